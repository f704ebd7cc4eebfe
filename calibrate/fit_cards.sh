#!/bin/sh
# Fits the shipped profiles of the cards of which little more than matrix products was measured: products from
# calibrate/measurements/imported/gemm, attention and what products draw from imported/attention and
# imported/power where they are known, everything else as class values from a profile that stands
# before in the list (the H200's first, by fit_h200.sh). Run from the repository's root after
# `./stepsight --version` has built the program, or with STEPSIGHT naming another one.
set -eu
tables=calibrate/measurements/imported/gemm
power=calibrate/measurements/imported/power
attention=calibrate/measurements/imported/attention
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fit() { # card, card to take class values from, tables
  card=$1 like=$2
  shift 2
  files=
  for table in "$@"; do files="$files $tables/$table.csv.gz"; done
  for table in "$attention/$card-attention.json" "$power/$card-power.json"; do
    if [ -f "$table" ]; then files="$files $table"; fi
  done
  # shellcheck disable=SC2086 # names without blanks
  "${STEPSIGHT:-./stepsight}" fit $files --gpu "$card" --class-from "$like" \
    -o "scenarios/profiles/$card.toml" >"$log" || { cat "$log"; exit 1; }
  echo "$card"
  grep -E '^gemm' "$log"
}

fit gtx-1080-ti h200-sxm deepbench_1080ti_fp32
fit p100-pcie h200-sxm deepbench_p100_fp32 neusight_fp32_tesla_p100_pcie_16gb
fit v100-sxm h200-sxm deepbench_v100_fp16 deepbench_v100_fp32 sailor_fp16_v100-16
fit v100-pcie v100-sxm neusight_fp32_tesla_v100_pcie_32gb
fit t4 h200-sxm deepbench_t4_fp16 deepbench_t4_fp32 neusight_fp32_tesla_t4
fit titan-rtx h200-sxm sailor_fp16_titan-rtx
fit a100-sxm-80 h200-sxm a100_sxm_bfloat16 neusight_fp32_a100_80gb_pcie
fit rtx-3090 h200-sxm sailor_fp16_rtx-3090
fit l40s h200-sxm l40s_bfloat16 l40s_fp8
fit l4 l40s neusight_fp32_l4
fit h100-sxm h200-sxm h100_sxm_bfloat16 h100_sxm_fp8 neusight_fp32_h100_80gb_hbm3
fit b200-sxm h200-sxm b200_sxm_bfloat16 b200_sxm_fp8
fit rtx-pro-6000 h200-sxm rtx_pro_6000_server_bfloat16 rtx_pro_6000_server_fp8
