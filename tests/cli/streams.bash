# For scripts that run the program, SCRIPT PROGRAM SOURCE_DIR: sets `program`, `source_dir` and `work`, a
# folder of the script's own that goes when it ends, and goes there. Then what reaches which stream, with
# which exit code; leaves the streams in the files out and err.
program=$1
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

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

# For text that goes to either stream. ends CODE PATTERN arguments...: that exit code, and a line like the
# extended PATTERN; no line over 80 columns, unless it is JSON.
ends() {
  local expected=$1 pattern=$2 status=0
  shift 2
  "$program" "$@" >out 2>&1 || status=$?
  [ "$status" -eq "$expected" ] || fail "stepsight $* -> exit $status"
  grep -qE -- "$pattern" out || fail "stepsight $*: no line like: $pattern"
  grep -q '^{' out || [ "$status" -eq 2 ] || ! awk 'length($0) > 80' out | grep . ||
    fail "stepsight $*: over 80 columns"
}
says() { ends 0 "$@"; }
refuses() { ends 2 "$@"; }
