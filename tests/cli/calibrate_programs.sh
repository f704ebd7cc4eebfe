#!/usr/bin/env bash
# calibrate_programs.sh PROGRAM SOURCE_DIR: the programs that measure a GPU, where they are built.
# Without a GPU each must say so in one line and exit 2; with one, each must leave a file that holds
# points and has ended by itself. Skipped (77) where CUDA was not part of the build.
set -euo pipefail
bin=$(dirname "$1")
programs=(gemm hbm host overlap)
[[ -x $bin/calibrate_collectives ]] && programs+=(collectives)
if [[ ! -x $bin/calibrate_gemm ]]; then
  echo "skipped: the programs that measure a GPU are not built (STEPSIGHT_CUDA)"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for name in "${programs[@]}"; do
  program=$bin/calibrate_$name
  "$program" --help | grep -q -- --resume
  [[ $("$program" --list | wc -l) -gt 10 ]]
  code=0
  "$program" --budget 2 -o "$work/$name.json" 2>"$work/$name.err" || code=$?
  if [[ $code -eq 2 ]]; then
    [[ $(wc -l <"$work/$name.err") -eq 1 ]]
    [[ ! -e $work/$name.json ]]
    echo "calibrate_$name: $(cat "$work/$name.err")"
    continue
  fi
  [[ $code -eq 0 ]]
  grep -q '"median_us"' "$work/$name.json"
  grep -Eq '"status": "(complete|budget)"' "$work/$name.json"
done
