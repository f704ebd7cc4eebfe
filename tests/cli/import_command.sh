#!/usr/bin/env bash
# Logs of trainers through `stepsight import`: table, JSON, CSV, gzip, refusals, bounded memory.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

{
  echo 'tokens per iteration will be: 491,520'
  echo 'iter 0: loss 10.9, time 25000.00ms, mfu -100.00%'
  for i in $(seq 1 60); do
    if [ $((i % 20)) -eq 0 ]; then ms=5500.00; else ms=500.00; fi
    echo "iter $i: loss 9.0, time ${ms}ms, mfu 30.00%"
  done
} >train.log
says 'nanoGPT' import train.log
says 'steady step, median +500 ms +57' import train.log
says 'warm-up, cut off +25.0 s +1' import train.log
says '^3 stalls .* take 33.3 % of the time' import train.log
says 'tokens a step 491,520' import train.log
says '"step_time_s": 0.5' import train.log --json
says '^20,1,5.5,,,9,stall$' import train.log --csv
gzip -k train.log
says 'steady step, median +500 ms' import train.log.gz
"$program" import train.log -o report.txt || fail 'import -o'
grep -q nanoGPT report.txt || fail 'no report.txt'

# A profiler's trace is split into its parts, two of them into the wire and waiting, too.
trace=$source_dir/tests/validation/traces/gpt2_124m_b8.json.gz
says 'gpt2_124m_b8.json.gz +[0-9.]+ ms' import "$trace"
says '"exposed_s": 0' import "$trace" "$trace" --json
refuses 'not both' import "$trace" train.log
refuses 'one log at a time' import train.log train.log

printf 'hello\n' >empty.log
refuses 'no training steps were found' import empty.log
refuses 'cannot be read' import none.log
refuses 'is a directory' import .
refuses 'excludes|--csv' import train.log --json --csv

# A log of 300 MB does not fill 100 MB of memory (slow: on request).
if [ -n "${STEPSIGHT_LARGE-}" ]; then
  yes "$(printf 'iter 7: loss 9.0, time 500.00ms, mfu 30.00%%\niter 8: loss 9.0, time 500.00ms')" |
    head -c 300000000 >large.log || true
  (ulimit -v 200000 && "$program" import large.log >out 2>&1) || fail 'large.log'
  grep -q 'steady step, median' out || fail 'large.log has no steps'
fi
