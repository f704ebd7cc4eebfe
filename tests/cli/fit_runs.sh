#!/usr/bin/env bash
# A machine refined by its own measured runs: `stepsight fit --runs`.
set -euo pipefail
program=$1
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $1" >&2
  cat out >&2
  exit 1
}
refuses() {
  local pattern=$1 status=0
  shift
  "$program" fit "$@" >out 2>&1 || status=$?
  [ "$status" -eq 2 ] || fail "$*: exit $status"
  grep -qE -- "$pattern" out || fail "$*: no line like: $pattern"
}

runs=$source_dir/tests/validation/own_two_gpus_runs.csv
"$program" fit --runs "$runs" --gpu h200-sxm -o mine.toml >out 2>&1 || fail 'fit --runs'
grep -qE 'host issue +\+[0-9]+ %' out || fail 'no slower host'
before=$(sed -n 's/^Mean error \([0-9.]*\) % before.*/\1/p' out)
after=$(sed -n 's/^Mean error .*; \([0-9.]*\) % with.*/\1/p' out)
# Each run left out in turn, what the others teach makes it better.
awk -v a="$after" -v b="$before" 'BEGIN { exit !(a < 0.8 * b) }' || fail "$before % before, $after % left out"
grep -q 'refined by 66 measured runs' mine.toml || fail 'no source in mine.toml'
[ -s mine.points.csv ] || fail 'no points beside mine.toml'

# The refined profile predicts, and what the host limits takes longer there.
step() {
  "$program" predict --model gpt2-124m --gpu "$1" --batch 1 --seq 128 --json | sed -n 's/.*"step_time_s": \([0-9.e-]*\).*/\1/p' |
    head -n 1
}
awk -v a="$(step ./mine.toml)" -v b="$(step h200-sxm)" 'BEGIN { exit !(a > 1.1 * b) }' || fail 'mine.toml is not slower'
"$program" fit --runs "$runs" --gpu h200-sxm --json >out 2>&1
grep -q '"error_left_out"' out || fail '--json'

refuses 'needs the machine' --runs "$runs"
refuses 'cannot be read' --runs none.csv --gpu h200-sxm
refuses 'goes with --runs' "$runs" --gpu h200-sxm --json
head -n 1 "$runs" >empty.csv
refuses '0 of the rows can be predicted' --runs empty.csv --gpu h200-sxm
