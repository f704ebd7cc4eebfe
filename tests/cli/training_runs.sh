#!/usr/bin/env bash
# training_runs.sh PROGRAM SOURCE_DIR: the runs that are measured on several GPUs, as far as no GPU is
# needed: what is run, rows as the program reads them, refusal where PyTorch is missing. Skipped (77)
# without Python.
set -euo pipefail
program=$1
source_dir=$2
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 "$source_dir/tests/validation/train_matrix_test.py"

# The listed rows, with a step time filled in, are rows that `validate` reads; most of them it predicts.
train=$source_dir/tests/validation/train_runs.py
python3 "$train" --list --gpus 2 --placeholder-s 0.1 -o "$work/runs.csv"
rows=$(($(wc -l <"$work/runs.csv") - 1))
[[ $rows -gt 50 ]]
"$program" validate "$work/runs.csv" --rows >"$work/table.txt"
predicted=$(grep -Ec '^H4[0-9]{4} ' "$work/table.txt")
echo "$predicted of $rows rows are predicted"
[[ $predicted -gt $((rows * 2 / 3)) ]]

# Without the filling the reader says which rows lack their time.
python3 "$train" --list --gpus 2 -o "$work/empty.csv"
code=0
"$program" validate "$work/empty.csv" 2>"$work/err" || code=$?
[[ $code -eq 2 ]]
grep -q step_time_s "$work/err"

# A run that does not exist is named; so is what is missing.
if python3 "$train" --list --only H49999 2>"$work/err"; then
  echo "FAILED: a run that does not exist was listed" >&2
  exit 1
fi
grep -q H49999 "$work/err"
if ! python3 -c 'import torch' 2>/dev/null; then
  code=0
  python3 "$train" -o "$work/none.csv" 2>"$work/err" || code=$?
  [[ $code -eq 2 && ! -e $work/none.csv ]]
  grep -q PyTorch "$work/err"
fi
