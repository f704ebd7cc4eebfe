#!/usr/bin/env bash
# trace from the outside: the overview, the file, the trace itself, and what it refuses.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

for scenario in "$source_dir"/scenarios/*.toml; do good trace "$scenario"; done

flags=(--model llama2-7b --gpu h200-sxm --batch 2 --seq 2048 --link nvlink4-nvswitch)
good trace "${flags[@]}" --gpus 8 -o t.json
has 'Open t.json in ui.perfetto.dev'
grep -q '"name":"bucket"' t.json || fail "no bucket in the trace"
grep -q '"ph":"s".*"name":"gradient"' t.json || fail "no arrow of a gradient"
wide=1 good trace "${flags[@]}" --gpus 8 --json
cmp -s out t.json || fail "--json is not what -o writes"
for split in '--strategy fsdp' '--strategy zero1' '--tensor 2 --sequence true' \
  '--pipeline 4 --accumulation 8' \
  '--pipeline 4 --chunks 2 --schedule interleaved --accumulation 8' \
  '--pipeline 2 --tensor 2 --schedule zero-bubble --accumulation 4'; do
  # shellcheck disable=SC2086
  good trace "${flags[@]}" --gpus 8 $split -o s.json
  grep -q '"links"' s.json || fail "no links: $split"
done
# Many micro-steps: the file stays small.
good trace "${flags[@]}" --gpus 8 --accumulation 256 -o large.json
[ "$(stat -c %s large.json)" -lt 40000000 ] || fail "a trace of $(stat -c %s large.json) bytes"
has 'neighbouring kernels of one phase'

bad 'needs a scenario file' trace
bad 'is a timeline already' trace --model step.trace.json.gz --gpu h200-sxm
bad 'nowhere' trace "${flags[@]}" -o nowhere/t.json
