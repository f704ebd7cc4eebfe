#!/usr/bin/env bash
# What the program's front door says to a wrong, empty or curious command line.
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect EXIT-CODE STREAM PATTERN arguments...: PATTERN on STREAM, nothing on the other one.
expect() {
  local code=$1 stream=$2 pattern=$3 other=out status=0
  shift 3
  [ "$stream" = err ] || other=err
  "$program" "$@" >"$work/out" 2>"$work/err" || status=$?
  if [ "$status" -ne "$code" ] || [ -s "$work/$other" ] || ! grep -qe "$pattern" "$work/$stream"; then
    echo "FAILED: stepsight $* -> exit $status" >&2
    cat "$work/out" "$work/err" >&2
    exit 1
  fi
}

expect 0 out '^stepsight [0-9]' --version
expect 0 out 'stepsight predict --model' --help
expect 2 err 'Usage'
expect 2 err 'stepsight: unknown option `--hlep`; did you mean `--help`?' --hlep
expect 2 err 'stepsight: unknown command `frobnicate`$' frobnicate
expect 2 err 'see `stepsight --help`' frobnicate

# Output that cannot be written is an error, not silence.
if [ -w /dev/full ]; then
  status=0
  "$program" --help >/dev/full 2>"$work/err" || status=$?
  if [ "$status" -ne 2 ] || ! grep -q 'could not be written' "$work/err"; then
    echo "FAILED: a full disk exits $status" >&2
    exit 1
  fi
fi
echo "command line: good"
