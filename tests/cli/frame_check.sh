#!/usr/bin/env bash
# The totals and exit code of ./check, with stand-ins for cmake and ctest.
set -euo pipefail
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

mkdir -p "$work"/{tree/cmake,bin}
cp "$source_dir"/{check,packages.apt,packages-test.apt} "$work/tree"
cp "$source_dir"/cmake/{prepare,web}.sh "$work/tree/cmake"
printf '#!/bin/sh\n[ ! -e "%s/broken" ]\n' "$work" >"$work/bin/cmake"
printf '#!/bin/sh\nshift 3\nfor name; do echo "installed $name"; done\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/apt-get"
# ctest --preset P -j 2 --output-junit FILE, with the results that the case below asks for.
cat >"$work/bin/ctest" <<EOF
#!/bin/sh
. "$work/case"
echo "1/9 Test #1: fine ....   Passed  0.00 sec"
[ -z "\$attributes" ] || printf '<?xml version="1.0"?>\n<testsuite name="x"\n\t%s\n\ttime="1">\n' "\$attributes" >"\$6"
exit \$status
EOF
printf '#!/bin/sh\n[ -e "%s/clang" ]\n' "$work" >"$work/bin/clang++"
chmod +x "$work"/bin/*
mkdir -p "$work/tree/tests/fuzz"
printf '[ ! -e "%s/finding" ]\n' "$work" >"$work/tree/tests/fuzz/run.sh"
export PATH=$work/bin:$PATH

# expect NAME EXIT-CODE LAST-LINE ATTRIBUTES CTEST-STATUS [check's arguments]
expect() {
  local name=$1 code=$2 line=$3 status=0
  printf "attributes='%s'\nstatus=%s\n" "$4" "$5" >"$work/case"
  shift 5
  "$work/tree/check" "$@" >"$work/out" 2>&1 || status=$?
  [ "$status" -eq "$code" ] || fail "$name: exit $status; $(cat "$work/out")"
  [ "$(tail -n 1 "$work/out")" = "$line" ] || fail "$name: $(tail -n 1 "$work/out")"
}

all='tests="9" failures="0" disabled="0" skipped="0"'
expect "two good runs" 0 "18 passed, 0 failed, 1 skipped" "$all" 0
touch "$work/clang"
expect "readers fuzzed, too" 0 "19 passed, 0 failed" "$all" 0
touch "$work/finding"
expect "a finding" 1 "18 passed, 1 failed" "$all" 0
rm "$work/clang"
expect "quick" 0 "9 passed, 0 failed" "$all" 0 --quick
grep -q ' Passed ' "$work/out" && fail "passed tests are listed one by one"
expect "failures" 1 "5 passed, 3 failed, 1 skipped" \
  'tests="9" failures="3" disabled="0" skipped="1"' 8 --quick
expect "no tests" 1 "0 passed, 1 failed" 'tests="0" failures="0" disabled="0" skipped="0"' 8 --quick
expect "no results" 1 "0 passed, 1 failed" '' 1 --quick
expect "a test that could not start" 1 "8 passed, 1 failed, 1 skipped" \
  'tests="9" failures="0" disabled="0" skipped="1"' 8 --quick
touch "$work/broken"
expect "a failed build" 1 "0 passed, 2 failed, 1 skipped" "$all" 0
echo "check: good"
