# shellcheck shell=bash
# Sourced by ./stepsight and ./check after cmake/prepare.sh: makes build/web, what only report pages need: the
# chart library, from the npm registry (cli/web/package-lock.json), and the simulator as WebAssembly, from our own
# sources by emscripten (cli/web/CMakeLists.txt). Nothing here is needed for a report: without them the page has its
# tables and static pictures, and no controls.
: "${root:?is set by the script that sources this one}"

# up_to_date_since STAMP PATHS...: nothing below the paths is newer.
up_to_date_since() {
  local stamp=$1 changed
  shift
  [ -f "$stamp" ] || return 1
  changed=$(cd "$root" && find "$@" -newer "$stamp" -print -quit) || return 1
  [ -z "$changed" ]
}
charts_up_to_date() {
  up_to_date_since "$root/build/web/charts.stamp" cli/web/package.json cli/web/package-lock.json cmake/web.sh
}
simulator_up_to_date() {
  up_to_date_since "$root/build/web/simulator.stamp" cli cmake/web.sh model reports simulate
}
web_up_to_date() { charts_up_to_date && simulator_up_to_date; }

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

# The WebAssembly is packed: base64 of it is two thirds of what stands in the page then.
web_simulator() {
  local folder=$root/build/web/simulator toolchain
  web_tool emcc emscripten || return 1
  toolchain=$(dirname "$(readlink -f "$(command -v emcc)")")/cmake/Modules/Platform/Emscripten.cmake
  [ -f "$toolchain" ] || toolchain=/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake
  # Debian's emscripten runs JavaScript whose modules a Node.js of another make does not find.
  local -x NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
  quietly "$root/build/web/simulator.log" cmake -S "$root/cli/web" -B "$folder" -G Ninja \
    -DCMAKE_TOOLCHAIN_FILE="$toolchain" || return 1
  quietly "$root/build/web/simulator.log" cmake --build "$folder" || return 1
  gzip -9 -n -c "$folder/simulator.wasm" | base64 -w 0 >"$root/build/web/simulator.wasm.txt" &&
    cp "$folder/simulator.js" "$root/build/web/simulator.js"
}

# web_part NAME WHAT: runs web_NAME unless it is up to date; says what the page goes without, and is content.
web_part() {
  local name=$1 what=$2 stamp=$root/build/web/$1.stamp
  "${name}_up_to_date" && return
  touch "$stamp.new"
  if "web_$name"; then
    mv -f "$stamp.new" "$stamp"
  else
    rm -f "$stamp.new" "$root/build/web/$name".js  # an old one would say other things than the program
    say "the page goes without $what (see build/web/*.log)"
  fi
}

build_web() {
  [ -f "$root/cli/web/package.json" ] || return 0
  web_up_to_date && return
  mkdir -p "$root/build/web"
  exec 8>"$root/build/web.lock"
  if have flock; then flock 8; fi
  start_hint "preparing report pages (two minutes the first time)..."
  web_part charts "interactive charts: npm is needed" 8>&-
  web_part simulator "controls that compute: emscripten is needed" 8>&-
  stop_hint
  exec 8>&-
}

# A browser to open report pages with. Ubuntu has none as a package: the test of the page is skipped there.
ensure_browser() {
  [ -f "$root/cli/web/package.json" ] || return 0
  have chromium-browser || have google-chrome || web_tool chromium chromium ||
    say "no chromium: the test that opens report pages is skipped"
}
