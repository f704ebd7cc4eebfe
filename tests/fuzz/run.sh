#!/usr/bin/env bash
# run.sh PROGRAM CORPUS SECONDS [--jobs N] [READER...]: fuzzes each reader (all, without a name) until SECONDS
# of CPU time are spent on it, N of them at a time (1), from its seeds and from what earlier runs found:
# CORPUS is kept, and a reader that has had its seconds is passed over, so that a run which was ended goes on
# where it was.
#
# In CORPUS: READER/ its inputs, READER.log what libFuzzer said, READER.done how many CPU seconds were spent
# on it in all, READER-crash-... and the like the inputs of findings. Ends with a line a reader and a verdict;
# exits 1 when there was a finding. Every reader is run, whatever others found.
set -euo pipefail
if [ $# -lt 3 ]; then
  sed -n '2,3s/^# //p' "$0" >&2
  exit 2
fi
program=$1
corpus=$2
seconds=$3
shift 3
jobs=1
if [ "${1-}" = --jobs ]; then
  jobs=$2
  shift 2
fi
mkdir -p "$corpus"
"$program" "--seeds=$corpus"
readers=("$@")
if [ ${#readers[@]} -eq 0 ]; then mapfile -t readers < <("$program" --list); fi

# One reader; its last line in READER.result. Rounds of at most a minute by the clock, since a clock is all
# that libFuzzer can stop at, and a busy machine gives less CPU time than that; its timeout is by the clock, too.
fuzz_one() {
  local program=$1 corpus=$2 seconds=$3 reader=$4 log=$2/$4.log status=0 runs=0 spent left user system
  local TIMEFORMAT='%U %S'
  spent=$(cat "$corpus/$reader.done" 2>/dev/null || echo 0)
  while [ "$status" -eq 0 ] && [ "$spent" -lt "$seconds" ]; do
    left=$((seconds - spent))
    { time "$program" "--reader=$reader" "$corpus/$reader" -max_total_time=$((left < 60 ? left : 60)) \
      -timeout=120 -rss_limit_mb=2048 -artifact_prefix="$corpus/$reader-" -print_final_stats=1 \
      >"$log" 2>&1 || status=$?; } 2>"$corpus/$reader.time"
    read -r user system <"$corpus/$reader.time"
    runs=$((runs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)))
    # Whole seconds, and at least one, so that a round always counts.
    spent=$(awk -v spent="$spent" -v used="$user" -v more="$system" \
      'BEGIN { used = int(used + more); print spent + (used < 1 ? 1 : used) }')
    echo "$spent" >"$corpus/$reader.done"
  done
  if [ "$status" -eq 0 ]; then
    echo "$reader: $runs runs now, $spent s of CPU time in all, $(find "$corpus/$reader" -type f | wc -l) inputs kept, no finding"
  else
    echo "$reader: A FINDING (exit $status), see $log: $(grep -m 1 -E 'ERROR|SUMMARY|runtime error' "$log" || tail -n 1 "$log")"
  fi >"$corpus/$reader.result"
  rm -f "$corpus/$reader.time"
  cat "$corpus/$reader.result"
}
export -f fuzz_one

printf '%s\n' "${readers[@]}" |
  xargs -P "$jobs" -I READER bash -c 'fuzz_one "$@"' _ "$program" "$corpus" "$seconds" READER

found=0
for reader in "${readers[@]}"; do
  if ! grep -q 'no finding$' "$corpus/$reader.result"; then
    found=$((found + 1))
    tail -n 40 "$corpus/$reader.log" >&2
  fi
done
echo "${#readers[@]} readers, $seconds s of CPU time each: $found with a finding"
[ "$found" -eq 0 ]
