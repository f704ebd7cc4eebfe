# shellcheck shell=bash
# Sourced by ./stepsight and ./check, which set `root`: installs what is missing and builds a preset.
# Everything said here goes to stderr; stdout belongs to the program.
: "${root:?is set by the script that sources this one}"

say() { printf 'stepsight: %s\n' "$*" >&2; }

# Package names of the given lists, one a line.
package_names() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@"; }

have() { command -v "$1" >/dev/null 2>&1; }

has_apt() { have apt-get && have dpkg-query; }

missing_packages() {
  local wanted installed
  wanted=$(package_names "$@" | sort -u)
  # dpkg-query fails when it does not know one of the names; it lists the others all the same.
  # shellcheck disable=SC2086
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
    sed -n 's/^installed //p' | sort -u) || true
  comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$installed")
}

# Runs a command with its output kept in a log; shows the log when the command fails.
quietly() {
  local log=$1 status=0
  shift
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then tail -n 200 "$log" >&2; fi
  return "$status"
}

apt_install() {
  local log status=0
  local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=120)
  if [ "$(id -u)" -ne 0 ]; then apt=(sudo "${apt[@]}"); fi
  log=$(mktemp)
  # Package lists are fetched only when they are absent or too old to install from.
  "${apt[@]}" install --no-install-recommends "$@" >"$log" 2>&1 ||
    { "${apt[@]}" update >"$log" 2>&1 &&
      "${apt[@]}" install --no-install-recommends "$@" >>"$log" 2>&1; } || status=$?
  if [ "$status" -ne 0 ]; then tail -n 20 "$log" >&2; fi
  rm -f "$log"
  return "$status"
}

# Exits 2 when something is missing and cannot be installed from here.
ensure_packages() {
  local missing tool
  if has_apt; then
    missing=$(missing_packages "$@" | tr '\n' ' ')
    if [ -z "${missing// /}" ]; then return; fi
    if [ "$(id -u)" -ne 0 ] && ! have sudo; then
      say "packages are missing; install them as root: apt-get install $missing"
      exit 2
    fi
    say "installing with apt-get: $missing"
    # shellcheck disable=SC2086
    if apt_install $missing; then return; fi
    say "apt-get failed; needed: $missing"
    exit 2
  fi
  for tool in cmake ninja c++; do
    if ! have "$tool"; then
      say "$tool was not found"
      name_packages "$@"
      exit 2
    fi
  done
}

name_packages() {
  say "the build needs these libraries and tools (named as Debian names them):"
  package_names "$@" | sed 's/^/  /' >&2
}

# Says after two seconds that a build is going on; ends with the build. It must not hold the
# launcher's lock (descriptor 9), which its sleep would keep for longer than the build takes.
start_hint() {
  (
    sleep 2 >/dev/null 2>&1
    say "$1"
  ) 9>&- &
  hint=$!
}

stop_hint() {
  kill "$hint" 2>/dev/null || true
  wait "$hint" 2>/dev/null || true
}

# configure PRESET [cmake arguments...]: a checkout that was moved or copied starts afresh.
configure() {
  local preset=$1 cache=$root/build/$1/CMakeCache.txt
  local -a fresh=()
  shift
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    fresh=(--fresh)
  fi
  mkdir -p "$root/build/$preset"
  (cd "$root" &&
    quietly "build/$preset/configure.log" cmake ${fresh[@]+"${fresh[@]}"} --preset "$preset" "$@")
}

# build PRESET [cmake --build arguments...]
build() {
  local preset=$1 jobs
  shift
  jobs=$(nproc 2>/dev/null || echo 2)
  (cd "$root" &&
    quietly "build/$preset/build.log" cmake --build --preset "$preset" -j "$jobs" "$@")
}
