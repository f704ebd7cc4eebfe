#!/bin/sh
# Fits the shipped H200 profile from the files in calibrate/measurements. Run from the repository's
# root after `./stepsight --version` has built the program, or with STEPSIGHT naming another one.
set -eu
m=calibrate/measurements
exec "${STEPSIGHT:-./stepsight}" fit "$m"/h200-*.json "$m"/imported/h200_* \
  --gpu h200-sxm --link nvlink4-nvswitch -o scenarios/profiles/h200-sxm.toml
