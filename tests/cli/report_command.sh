#!/usr/bin/env bash
# report from the outside: every form of it, twice the same bytes, and no scenario's text becoming markup.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"
export STEPSIGHT_WEB=$work/none

scenario=$source_dir/scenarios/second_card.toml
wide=1 good report "$scenario"
has '^## Why N cards are not N times one'
wide=1 good report "$scenario" --json
has '"report": "scenario"'
wide=1 good report "$scenario" --format csv
has '^gpus,step_s,'
wide=1 good report "$scenario" --lang zh
has '扩展效率'
for ending in html md csv json; do
  "$program" report "$scenario" -o "a.$ending"
  "$program" report "$scenario" -o "b.$ending"
  cmp "a.$ending" "b.$ending" || fail "two reports differ: $ending"
done
for text in '<svg' '<h2>Memory of one GPU</h2>' 'gpus = \[1, 2, 4, 8\]'; do
  grep -qe "$text" a.html || fail "the page lacks $text"
done
if grep -qE '(src|href)="?(https?:)?//' a.html; then fail "the page asks a server"; fi

# What people write stays text.
sed -e "s|^title = .*|title = '<script>alert(1)</script> \`x\` \\| y'|" "$scenario" >nasty.toml
cp nasty.toml '<b>&.toml'
"$program" report '<b>&.toml' -o nasty.html
if grep -q '<script>alert' nasty.html; then fail "a title became a script"; fi
if grep -q '<b>&' nasty.html; then fail "a path became markup"; fi
"$program" report nasty.toml -o nasty.md
grep -q '^# \\<script\|^# &lt;script' nasty.md || fail "Markdown: $(head -n 1 nasty.md)"

# Two scenarios, and flags alone: the page then carries a scenario that asks the same.
sed -e 's/^strategy = "ddp"/strategy = "fsdp"/' -e 's/^title = .*/title = "sharded"/' "$scenario" >other.toml
"$program" report "$scenario" --against other.toml -o c.html
grep -q '<h2>Side by side</h2>' c.html || fail "no comparison"
wide=1 good report "$scenario" --against other.toml --json
has '"report": "comparison"'
"$program" report --model llama2-7b --gpu h200-sxm --gpus 8 --link nvlink4-nvswitch --batch 4 --seq 2048 \
  --json -o flags.json
"$program" report --model llama2-7b --gpu h200-sxm --gpus 8 --link nvlink4-nvswitch --batch 4 --seq 2048 \
  --format md -o flags.md
sed -n '/^## Ask it again/,$p' flags.md | awk '/^```/ { inside = !inside; next } inside' >again.toml
"$program" report again.toml --json -o again.json
diff <(grep '"step_s"' flags.json) <(grep '"step_s"' again.json) || fail "the scenario to copy asks something else"

# Prices: the cost section, and without them the key to give.
wide=1 good report "$source_dir/scenarios/rented_4090s.toml"
has '^## Cost and payback'
has '^| a million tokens, rented |'
has '^\*\*What each added card brings'
wide=1 good report "$scenario"
has 'rent\\_per\\_gpu\\_hour'
# A thousand points: the same bytes on any number of cores, in seconds of CPU that are a few.
batches=$(seq -s, 1 50)
"$program" report "$scenario" --gpus 8 --batch "$batches" --seq "$(seq -s, 64 48 1000)" -o many.html
[ "$(grep -c '<tr>' many.html)" -gt 1000 ] || fail "a sweep without its rows"
taskset -c 0 "$program" report "$scenario" --gpus 8 --batch "$batches" --seq "$(seq -s, 64 48 1000)" -o again.html ||
  fail "on one core"
cmp many.html again.html || fail "the number of cores changes a report"

# A table of runs.
"$program" report --runs "$source_dir/tests/validation/own_h200_runs.csv" -o runs.html
grep -q '<h2>Error by group</h2>' runs.html || fail "no errors by group"
wide=1 good report --runs "$source_dir/tests/validation/own_h200_runs.csv" --json
has '"report": "validation"'
bad 'takes no scenario' report "$scenario" --runs "$source_dir/tests/validation/own_h200_runs.csv"

bad 'needs a scenario file' report
bad 'which form' report "$scenario" -o report.pdf
bad 'reports are about models' report --model step.json.gz --gpu h200-sxm
