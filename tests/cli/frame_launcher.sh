#!/usr/bin/env bash
# The launcher's own logic, with stand-ins for cmake and the package tools: when it builds, when it
# does not, what reaches the program, and what a person sees when something fails.
set -euo pipefail
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

for script in stepsight check cmake/prepare.sh cmake/web.sh .ci/run; do
  bash -n "$source_dir/$script" || fail "$script does not parse"
done

# A checkout with nothing in it but what the launcher looks at.
tree=$work/tree
mkdir -p "$tree"/{calibrate,cmake,cli,model,reports,scenarios,simulate} "$work/bin" "$work/elsewhere"
cp "$source_dir"/{stepsight,check,CMakePresets.json,packages.apt,packages-test.apt,LICENSE} "$tree"
cp "$source_dir"/cmake/{prepare,web}.sh "$tree/cmake"
touch "$tree/CMakeLists.txt"

# This cmake "builds" a program that says where it runs and with what.
cat >"$work/bin/cmake" <<EOF
#!/bin/sh
echo "cmake \$*" >>"$work/calls"
[ ! -e "$work/broken" ] || { echo "the compiler says no"; exit 1; }
case "\$1" in
  --preset)
    mkdir -p build/release
    echo "CMAKE_HOME_DIRECTORY:INTERNAL=\$PWD" >build/release/CMakeCache.txt
    touch build/release/build.ninja ;;
  --build)
    mkdir -p build/release/bin
    printf '#!/bin/sh\npwd; for a; do echo "[\$a]"; done\nexit 7\n' >build/release/bin/stepsight
    chmod +x build/release/bin/stepsight ;;
esac
EOF
# Everything is installed, says this dpkg-query, unless a name stands in the file "absent".
cat >"$work/bin/dpkg-query" <<EOF
#!/bin/sh
shift 3
for name; do grep -qx "\$name" "$work/absent" 2>/dev/null || echo "installed \$name"; done
EOF
cat >"$work/bin/apt-get" <<EOF
#!/bin/sh
echo "apt-get \$*" >>"$work/calls"
case "\$*" in *update*) touch "$work/lists" ;; *) [ -e "$work/lists" ] && rm -f "$work/absent" ;; esac
EOF
# Root needs no sudo; for everybody else this one stands in.
printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
chmod +x "$work"/bin/*
export PATH=$work/bin:$PATH
calls() { grep -c "$1" "$work/calls" 2>/dev/null || true; }
launch() { (cd "$work/elsewhere" && "$@"); }

# First run, through a symlink, from another folder: builds; folder, arguments, exit code arrive.
ln -s "$tree/stepsight" "$work/link"
status=0
output=$(launch "$work/link" 'two words' '' --flag 2>"$work/err") || status=$?
[ "$status" -eq 7 ] || fail "the program's exit code was lost: $status; $(cat "$work/err")"
expected=$(printf '%s\n' "$(cd "$work/elsewhere" && pwd -P)" '[two words]' '[]' '[--flag]')
[ "$output" = "$expected" ] || fail "wrong folder or arguments: $output"
[ "$(calls 'cmake --build')" -eq 1 ] || fail "the first run did not build once"
[ "$(calls apt-get)" -eq 0 ] || fail "apt-get was called although nothing was missing"

# Nothing changed: no build, and little time (the best of five: the machine may be busy).
best=1000000
for _ in 1 2 3 4 5; do
  begin=$(date +%s%N)
  launch ../link >/dev/null 2>&1 || true
  elapsed=$((($(date +%s%N) - begin) / 1000000))
  [ "$elapsed" -ge "$best" ] || best=$elapsed
done
[ "$(calls 'cmake --build')" -eq 1 ] || fail "an unchanged tree was built again"
[ "$best" -lt 300 ] || fail "an unchanged tree cost $best ms"

# A new, changed or removed source: builds, without configuring again.
for change in "touch $tree/model/new.cpp" "touch $tree/model/new.cpp" "rm $tree/model/new.cpp"; do
  before=$(calls 'cmake --build')
  sleep 0.02
  $change
  launch "$work/link" >/dev/null 2>&1 || true
  [ "$(calls 'cmake --build')" -eq $((before + 1)) ] || fail "not built after: $change"
done
[ "$(calls 'cmake --preset')" -eq 1 ] || fail "configured more than once"

# A missing package: installed by apt-get, lists fetched because the first attempt fails.
echo libceres-dev >"$work/absent"
touch "$tree/model/new.cpp"
launch "$work/link" >/dev/null 2>"$work/err" || true
grep -q 'installing with apt-get: libceres-dev' "$work/err" || fail "the installation is not announced"
[ "$(calls 'apt-get.* update')" -eq 1 ] || fail "package lists were not fetched once"
[ "$(calls 'apt-get.* install .*libceres-dev')" -eq 2 ] || fail "the installation was not repeated"
grep -q 'apt-get.*cmake' "$work/calls" && fail "an installed package was installed again"

# A failing build: its output, exit 70, and the next run tries again.
touch "$work/broken" "$tree/model/new.cpp"
status=0
launch "$work/link" >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 70 ] || fail "a failed build exits $status"
grep -q 'the compiler says no' "$work/err" || fail "the output of a failed build is not shown"
[ ! -s "$work/out" ] || fail "a failed build wrote to stdout"
rm "$work/broken"
status=0
launch "$work/link" >/dev/null 2>&1 || status=$?
[ "$status" -eq 7 ] || fail "a mended build was not built"

# A copy of the checkout does not build into the original's folder.
cp -a "$tree" "$work/copy"
status=0
launch "$work/copy/stepsight" >/dev/null 2>&1 || status=$?
touch "$work/copy/model/new.cpp"
launch "$work/copy/stepsight" >/dev/null 2>&1 || true
grep -q 'cmake --fresh --preset release' "$work/calls" || fail "a copied build was not made afresh"

# No root and no sudo, or no apt at all: says what to install and exits 2.
mkdir "$work/plain"
for tool in bash sh cat sed sort comm tr grep readlink dirname find touch mkdir mktemp tail rm env id; do
  ln -s "$(command -v $tool)" "$work/plain/$tool"
done
touch "$tree/model/new.cpp"
status=0
(cd / && PATH=$work/plain "$work/link") >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 2 ] || fail "without build tools it exits $status: $(cat "$work/err")"
grep -q 'libtomlplusplus-dev' "$work/err" || fail "it does not name what to install"
[ ! -s "$work/out" ] || fail "advice went to stdout"
echo "launcher: good"
