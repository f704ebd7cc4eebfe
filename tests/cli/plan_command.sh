#!/usr/bin/env bash
# plan from the outside: streams, exit codes, the form of its answers.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

good plan "$source_dir/scenarios/plans/gpt_22b.toml"
has '^1,[0-9]* candidates: '
has 'Why nothing else on 8 GPUs'
has '^Look closer at the fastest: stepsight predict'
cp out first
good plan "$source_dir/scenarios/plans/gpt_22b.toml" --threads 3 --candidates all.csv
cmp out first || fail "threads change the answer"
[ "$(wc -l <all.csv)" -gt 1000 ] || fail "not every candidate has a row"
grep -q ',simulated,' all.csv && grep -q ',bound,' all.csv && grep -q ',states,' all.csv || fail "fates"

flags=(--model llama2-7b --gpu h100-sxm --gpus 8,16 --gpus-per-node 8 --global-batch 64 --seq 4096
  --link nvlink4-nvswitch+8x400G-ib)
good plan "${flags[@]}" --prices example-2026 --tokens 1e10
has '^F fastest  C cheapest'
has '^cost in USD'
has '^With an interval of 90 % the fastest takes '
wide=1 good plan "${flags[@]}" --json
grep -q '"fastest": [01]' out || fail "JSON"
good plan "${flags[@]}" --tensor 8 --pipeline 1 --strategy zero1
has 'tp8'

# In Chinese the same figures, and no English but names, keys and the command.
good plan "${flags[@]}" --prices example-2026 --tokens 1e10
grep -oE '[0-9]+\.[0-9]+' out >figures
wide=1 good plan "${flags[@]}" --prices example-2026 --tokens 1e10 --lang zh
grep -oE '[0-9]+\.[0-9]+' out | cmp - figures || fail "other figures in Chinese"
has '个候选方案'
if grep -v predict out | grep -E '[A-Za-z]+ [a-z]+ [a-z]+ [a-z]+'; then fail "English in a Chinese plan"; fi
bad "fr not in" plan "${flags[@]}" --lang fr

# A plan's interval is what predict says of the same step, with the error that runs taught.
one=(--model llama2-7b --gpu h100-sxm --gpus 8 --gpus-per-node 8 --link nvlink4-nvswitch+8x400G-ib --seq 4096
  --tensor 8 --strategy ddp --sequence true --recompute none)
wide=1 good plan "${one[@]}" --pipeline 1 --global-batch 64 --micro-batch 1 --json
cp out plan.json
wide=1 good predict "${one[@]}" --batch 1 --accumulation 64 --json
for end in p5 p95; do
  value() { sed -n "/\"$1\": {/,/}/s/.*\"$end\": \([0-9.e-]*\).*/\1/p" "$2" | head -n 1; }
  planned=$(value step_time_interval_s plan.json)
  predicted=$(value step_time_s out)
  [ -n "$planned" ] && [ "$planned" = "$predicted" ] || fail "$end: the plan says $planned, predict $predicted"
done

# The next number of GPUs: the best plan there against the best plan here, in text without prices, too.
good plan "${flags[@]}"
has 'best plan against best plan'
has '^ *8 to 16 '
wide=1 good plan "${flags[@]}" --prices example-2026 --tokens 1e10 --json
number() { sed -n "s/.*\"$1\": \([0-9.e-]*\).*/\1/p" out; }
mapfile -t rates < <(number samples_per_s)
added=$(number samples_per_s_per_added_gpu)
awk -v a="${rates[0]}" -v b="${rates[1]}" -v each="$added" 'BEGIN { d = (b - a) / 8 / each - 1; exit !(d < 1e-9 && d > -1e-9) }' ||
  fail "8 added GPUs bring $added samples/s each, but the plans do ${rates[*]}"
ends=$(sed -n '/"samples_per_s_per_added_gpu": {/,/}/p' out)
low=$(sed -n 's/.*"p5": \([0-9.e-]*\).*/\1/p' <<<"$ends")
high=$(sed -n 's/.*"p95": \([0-9.e-]*\).*/\1/p' <<<"$ends")
awk -v x="$added" -v low="$low" -v high="$high" 'BEGIN { exit !(low > 0 && low < x && x < high) }' ||
  fail "the interval $low to $high does not hold $added"
# Cards and links are lines of their own, and one in place of another.
wide=1 good plan --model llama2-7b --gpu h100-sxm,a100-sxm-80 --gpus 8,16 --gpus-per-node 8 --global-batch 64 \
  --seq 4096 --link nvlink3-nvswitch+8x400G-ib --prices example-2026 --tokens 1e10
has 'What each added card brings (gpu = h100-sxm)'
has 'What each added card brings (gpu = a100-sxm-80)'

# A limit that nothing keeps is a check that failed.
status=0
"$program" plan "${flags[@]}" --tokens 1e15 --deadline-days 1 >out 2>err || status=$?
[ "$status" -eq 1 ] || fail "exit $status where no plan is in time"

bad 'global_batch' plan --model llama2-7b --gpu h100-sxm --gpus 8 --link nvlink4-nvswitch
bad 'needs a scenario file' plan
bad 'chooses accumulation itself' plan "${flags[@]}" --accumulation 4
bad 'micro_batch' plan "${flags[@]}" --micro-batch 0

# Every plan that ships.
for scenario in "$source_dir"/scenarios/plans/*.toml; do good plan "$scenario"; done
