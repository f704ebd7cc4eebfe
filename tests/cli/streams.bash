# For scripts that run the program: what reaches which stream, with which exit code. Sourced with
# `program` set, in a folder of its own; leaves the streams in the files out and err.

fail() {
  echo "FAILED: $*" >&2
  [ ! -e out ] || head -n 60 out >&2
  [ ! -e err ] || cat err >&2
  exit 1
}

# good arguments...: exit 0, text on stdout only, no line over 80 columns unless `wide` is set.
good() {
  "$program" "$@" >out 2>err || fail "stepsight $* -> exit $?"
  [ -s out ] && [ ! -s err ] || fail "stepsight $*: wrong streams"
  [ -n "${wide:-}" ] || ! awk 'length($0) > 80' out | grep . || fail "stepsight $*: over 80 columns"
}

# bad PATTERN arguments...: exit 2, PATTERN on stderr, nothing on stdout.
bad() {
  local pattern=$1 status=0
  shift
  "$program" "$@" >out 2>err || status=$?
  [ "$status" -eq 2 ] && [ ! -s out ] || fail "stepsight $* -> exit $status"
  grep -qe "$pattern" err || fail "stepsight $*: no line like: $pattern"
}
has() { grep -qe "$1" out || fail "no line like: $1"; }
