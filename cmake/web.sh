# shellcheck shell=bash
# Sourced by ./stepsight and ./check after cmake/prepare.sh: makes build/web, what only report pages need: the
# chart library, from the npm registry (cli/web/package-lock.json). Nothing here is needed for a report: without
# it the page has its tables and static pictures.
: "${root:?is set by the script that sources this one}"

web_up_to_date() {
  local changed
  [ -f "$root/build/web/stamp" ] || return 1
  changed=$(cd "$root" && find cli/web cmake/web.sh -newer build/web/stamp \
    -print -quit) || return 1
  [ -z "$changed" ]
}

# A tool from a package; without apt, or where that fails, the page goes without.
web_tool() {
  local tool=$1 package=$2
  have "$tool" && return
  has_apt || return 1
  [ "$(id -u)" -eq 0 ] || have sudo || return 1
  say "installing with apt-get for report pages: $package"
  apt_install "$package" && have "$tool"
}

web_charts() {
  local folder=$root/build/web/npm
  web_tool npm npm || return 1
  mkdir -p "$folder"
  cp "$root"/cli/web/package.json "$root"/cli/web/package-lock.json "$folder"
  (cd "$folder" && quietly "$root/build/web/npm.log" npm ci --ignore-scripts --no-audit --no-fund) || return 1
  cp "$folder/node_modules/echarts/dist/echarts.common.min.js" "$root/build/web/charts.js"
}

# Says what the page goes without, and is content.
build_web() {
  [ -f "$root/cli/web/package.json" ] || return 0
  web_up_to_date && return
  mkdir -p "$root/build/web"
  exec 8>"$root/build/web.lock"
  if have flock; then flock 8; fi
  if ! web_up_to_date; then
    touch "$root/build/web/stamp.new"
    start_hint "fetching the chart library of report pages..."
    local lacks=""
    web_charts || lacks=yes
    stop_hint
    if [ -n "$lacks" ]; then
      say "the page goes without interactive charts (npm is needed; see build/web/npm.log)"
    else
      mv -f "$root/build/web/stamp.new" "$root/build/web/stamp"
    fi
  fi
  exec 8>&-
}

# A browser to open report pages with. Ubuntu has none as a package: the test of the page is skipped there.
ensure_browser() {
  [ -f "$root/cli/web/package.json" ] || return 0
  have chromium-browser || have google-chrome || web_tool chromium chromium ||
    say "no chromium: the test that opens report pages is skipped"
}
