#!/usr/bin/env bash
# A machine refined by its own measured runs: `stepsight fit --runs`.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

runs=$source_dir/tests/validation/own_two_gpus_runs.csv
"$program" fit --runs "$runs" --gpu h200-sxm -o mine.toml >out 2>&1 || fail 'fit --runs'
grep -qE 'host issue +\+[0-9]+ %' out || fail 'no slower host'
before=$(sed -n 's/^Mean error \([0-9.]*\) % before.*/\1/p' out)
after=$(sed -n 's/^Mean error .*; \([0-9.]*\) % with.*/\1/p' out)
# Each run left out in turn, what the others teach makes it better.
awk -v a="$after" -v b="$before" 'BEGIN { exit !(a < 0.8 * b) }' || fail "$before % before, $after % left out"
grep -q 'refined by 66 measured runs' mine.toml || fail 'no source in mine.toml'
[ -s mine.points.csv ] || fail 'no points beside mine.toml'

# The refined profile predicts, and what the host limits takes longer there.
step() {
  "$program" predict --model gpt2-124m --gpu "$1" --batch 1 --seq 128 --json | sed -n 's/.*"step_time_s": \([0-9.e-]*\).*/\1/p' |
    head -n 1
}
awk -v a="$(step ./mine.toml)" -v b="$(step h200-sxm)" 'BEGIN { exit !(a > 1.1 * b) }' || fail 'mine.toml is not slower'
"$program" fit --runs "$runs" --gpu h200-sxm --json >out 2>&1
grep -q '"error_left_out"' out || fail '--json'

# A link of a class becomes a file for --link: these runs had a quicker one than their table now says.
sed 's/,nvswitch,$/,pcie4-x16-nop2p,/' "$runs" >pcie.csv
"$program" fit --runs pcie.csv --gpu h200-sxm -o own.toml >out 2>&1 || fail 'fit --runs over PCIe'
link=$(echo own-*.toml)
grep -q "is for --link: $link" out || fail 'the link file is not named'
grep -q 'refined by 66 measured runs' "$link" || fail "no source in $link"
ddp() {
  "$program" predict --model gpt2-774m --gpu ./own.toml --gpus 2 --batch 1 --link "$1" --json |
    sed -n 's/.*"step_time_s": \([0-9.e-]*\).*/\1/p' | head -n 1
}
class=${link#own-}
awk -v a="$(ddp "./$link")" -v b="$(ddp "${class%.toml}")" 'BEGIN { exit !(a > 0 && a < 0.95 * b) }' ||
  fail "$link is no quicker"

refuses 'needs the machine' fit --runs "$runs"
refuses 'cannot be read' fit --runs none.csv --gpu h200-sxm
refuses 'goes with --runs' fit "$runs" --gpu h200-sxm --json
head -n 1 "$runs" >empty.csv
refuses '0 of the rows can be predicted' fit --runs empty.csv --gpu h200-sxm
