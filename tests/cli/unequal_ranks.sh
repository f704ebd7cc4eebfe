#!/usr/bin/env bash
# unequal_ranks.sh PROGRAM SOURCE_DIR: slow ranks, late data and pauses through the command line: the step
# is longer, its parts say why, and half of a pair of keys is refused.
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ask() { "$program" predict --model gpt2-774m --gpu h200-sxm --gpus 8 --link nvlink4-nvswitch --batch 8 --seq 1024 "$@"; }

ask --slow-factor 1.4 | grep -q "waiting for the slowest rank"
ask --jitter 0.05 | grep -q "waiting for the slowest rank"
ask --node-samples-per-s 100 | grep -q "Data sets the pace"
ask --stall-s 60 --stall-steps 1000 | grep -q "pauses between steps"
ask --slowest-gpu h100-sxm | grep -q "waiting for the slowest rank"
ask --slowest-gpu rtx-3090 | grep -q "waiting for the slowest rank"
if ask | grep "waiting for the slowest rank\|pauses between steps\|waiting for data"; then
  echo "FAILED: equal ranks wait" >&2
  exit 1
fi

json=$(ask --node-samples-per-s 100 --json)
grep -q '"bound_by": "loader"' <<<"$json"
grep -q '"data_loading"' <<<"$json"

code=0
ask --stall-s 60 2>"$work/err" || code=$?
[[ $code -eq 2 ]]
grep -q "go together" "$work/err"

code=0
ask --slowest-gpu rtx-3900 2>"$work/err" || code=$?
[[ $code -eq 2 ]]
grep -q "rtx-3090" "$work/err"
