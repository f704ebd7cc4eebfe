#!/usr/bin/env bash
# A report's page in a browser: no error, every chart drawn, no request. Skipped, visibly, where there is no browser
# or no node, or where what only pages need was not fetched (./check and ./stepsight report do).
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

skip() {
  echo "SKIPPED: $*"
  exit 77
}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || skip "no chromium"
command -v node >/dev/null || skip "no node"
look() { node "$source_dir/tests/cli/browser.mjs" "$browser" "$@"; }

# Without anything that the launcher builds the pictures are there all the same.
scenario=$source_dir/scenarios/second_card.toml
STEPSIGHT_WEB=$work/none "$program" report "$scenario" -o plain.html
look check plain.html || fail "the page without scripts"

export STEPSIGHT_WEB=${STEPSIGHT_WEB:-$source_dir/build/web}
[ -f "$STEPSIGHT_WEB/charts.js" ] || skip "no build/web"

# Every kind of page.
computes=
if [ -f "$STEPSIGHT_WEB/simulator.js" ]; then computes=computes; fi
"$program" report "$scenario" -o page.html
look check page.html $computes >answer.json || fail "the page"
[ "$(stat -c %s page.html)" -lt 3000000 ] || fail "a page of $(stat -c %s page.html) bytes"
"$program" report "$scenario" -o again.html
cmp page.html again.html || fail "two pages of one scenario differ"

"$program" report --model llama2-7b --gpu h100-sxm --gpus 16 --nodes 2 --batch 2 --seq 4096 --pipeline 4 \
  --accumulation 8 --link nvlink4-nvswitch+8x400G-ib --lang zh -o zh.html
look check zh.html $computes >answer.json || fail "the page in Chinese"
sed -e 's/^strategy = "ddp"/strategy = "fsdp"/' -e 's/^title = .*/title = "<script>x()<\/script>"/' "$scenario" >other.toml
"$program" report "$scenario" --against other.toml -o two.html
look check two.html || fail "the page of two"
"$program" report other.toml -o nasty.html
look check nasty.html || fail "the page of a nasty name"
"$program" report --runs "$source_dir/tests/validation/own_h200_runs.csv" -o runs.html
look check runs.html || fail "the page of runs"
