#!/usr/bin/env bash
# A link from sweeps that PyTorch timed from the host: `stepsight fit --link-only --timed-from-host CARD`.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

sweeps=$source_dir/calibrate/measurements/imported/nccl/ext_sailor_gh-96_4gpu
files=("${sweeps}_all_reduce.csv" "${sweeps}_all_gather.csv" "${sweeps}_reduce_scatter.csv")
link=(--link nvlink4-alltoall --link-only --gpus-per-node 4)
busbw() {
  sed -n "/^\\[$2\\.4\\]/,/^busbw/s/^busbw_GBps = //p" "$1"
}
# Are the bus bandwidths of all three collectives, which go the same way, within that factor?
agree() {
  awk -v a="$(busbw "$1" all_reduce)" -v b="$(busbw "$1" all_gather)" -v c="$(busbw "$1" reduce_scatter)" -v f="$2" \
    'BEGIN { exit !(b > 0 && c > 0 && a < f * b && a < f * c) }'
}
"$program" fit "${files[@]}" "${link[@]}" -o timed.toml >out 2>&1 || fail 'fit'
if agree timed.toml 1.3; then fail 'the copies of lists do not show'; fi
"$program" fit "${files[@]}" "${link[@]}" --timed-from-host gh200 -o alone.toml >out 2>&1 || fail 'fit without the host'
agree alone.toml 1.15 || fail 'gathers and sums differ still'
grep -q 'all_gather.csv: [0-9]* messages say nothing of the link' out || fail 'nothing said of what was left out'

bad "no-card" fit "${files[@]}" "${link[@]}" --timed-from-host no-card
head -n 2 "${files[2]}" >short.csv
sed -i 's/^[0-9]*,/1048576,/' short.csv
mv short.csv ext_4gpu.csv
bad 'give longer messages' fit ext_4gpu.csv "${link[@]}" --timed-from-host gh200
