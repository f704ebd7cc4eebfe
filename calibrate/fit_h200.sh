#!/bin/sh
# Fits the shipped H200 profile from the files in calibrate/measurements. Run from the repository's
# root after `./stepsight --version` has built the program, or with STEPSIGHT naming another one.
# Products come from our own measurements alone; the imported tables beside them are another library's
# truth, kept for comparison. Collectives of two GPUs are our own, those of four and eight imported (the
# imported sweep of two stands beside, for comparison).
set -eu
m=calibrate/measurements
exec "${STEPSIGHT:-./stepsight}" fit "$m"/h200-*.json "$m"/imported/h200_ops.jsonl \
  "$m"/imported/h200_sxm_nccl_*_[48]gpu.csv --gpu h200-sxm --link nvlink4-nvswitch \
  -o scenarios/profiles/h200-sxm.toml
