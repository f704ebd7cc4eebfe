#!/usr/bin/env bash
# The program inside a report page answers as the program that wrote it, for every scenario that we ship. Skipped,
# visibly, where there is no node or no emscripten.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

skip() {
  echo "SKIPPED: $*"
  exit 77
}
command -v node >/dev/null || skip "no node"
export STEPSIGHT_WEB=${STEPSIGHT_WEB:-$source_dir/build/web}
if [ ! -f "$STEPSIGHT_WEB/simulator.js" ]; then
  command -v emcc >/dev/null || skip "no emscripten: pages have no program"
  fail "emscripten is here, but there is no $STEPSIGHT_WEB/simulator.js: see simulator.log beside it"
fi

compare() {
  "$program" report "$@" -o page.html
  grep -q '<section id="what_if"' page.html || fail "no controls: $*"
  [ "$(stat -c %s page.html)" -lt 3000000 ] || fail "a page of $(stat -c %s page.html) bytes: $*"
  node "$source_dir/tests/cli/page_program.mjs" page.html "$program" "$@" || fail "the page of $*"
}

for scenario in "$source_dir"/scenarios/*.toml; do compare "$scenario"; done

# Keys beside the file, keys alone, and files of one's own.
compare "$source_dir/scenarios/second_card.toml" --strategy fsdp --gpus 4
compare --model llama2-7b --gpu h200-sxm --gpus 8 --batch 4 --seq 2048
mkdir -p own data/profiles
cp "$source_dir/scenarios/models/gpt2-124m.toml" own/model.toml
cp "$source_dir/scenarios/profiles/t4.toml" own/card.toml
cp "$source_dir/scenarios/profiles/t4.points.csv" own/card.points.csv
cp "$source_dir/scenarios/profiles/l4.toml" data/profiles/mine.toml
cp "$source_dir/scenarios/profiles/l4.points.csv" data/profiles/mine.points.csv
compare --model own/model.toml --gpu own/card.toml --gpus 2 --link pcie3-x16-p2p --batch 2 --seq 512
STEPSIGHT_DATA=data compare --model gpt2-124m --gpu mine --gpus 2 --link pcie4-x16-p2p --batch 2 --seq 512
