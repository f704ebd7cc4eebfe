#!/usr/bin/env bash
# validate_host.sh PROGRAM SOURCE_DIR: how slow a machine's host is, fitted on a few rows and judged on the
# others.
set -euo pipefail
program=$1
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runs=$source_dir/tests/validation/own_h200_runs.csv

"$program" validate "$runs" --json -o "$work/plain.json"
"$program" validate "$runs" --host-rows 10 --json -o "$work/fitted.json"
"$program" validate "$runs" --host-rows 10 >"$work/table.txt"
count() { grep -o '"predicted": *[0-9]*' "$1" | head -1 | grep -o '[0-9]*$'; }
# The rows that it was fitted on are not among those that it is judged by.
[[ $(count "$work/fitted.json") -eq $(($(count "$work/plain.json") - 10)) ]]
grep -q '"factor"' "$work/fitted.json"
grep -q 'fitted on 10' "$work/table.txt"
if grep '"factor"' "$work/plain.json"; then
  echo "FAILED: a host was fitted without being asked for" >&2
  exit 1
fi

# One factor stands for one machine; something must be left to judge it by.
code=0
"$program" validate "$runs" --host-rows 1000 2>"$work/err" || code=$?
[[ $code -eq 2 ]]
grep -q 'must be left' "$work/err"
code=0
"$program" validate "$source_dir/tests/validation/public_bert_runs.csv" --host-rows 5 2>"$work/err" || code=$?
[[ $code -eq 2 ]]
grep -q -e '--source' "$work/err"
"$program" validate "$runs" --source nowhere --json | grep -q '"predicted": *0'
