#!/usr/bin/env bash
# predict --model TRACE from the outside: streams, exit codes, width, the machine's forms. Figures are
# not looked at: tests/validation holds them against measured steps.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"
traces=$source_dir/tests/validation/traces
wide=yes  # lines hold the path of a trace; the others are looked at below

resnet=(--model "$traces/resnet50_b64.json.gz" --gpu h200-sxm)
good predict "${resnet[@]}" --gpus 1,2,8 --batch 64
if awk 'length($0) > 80' out | grep -v "$traces"; then fail "over 80 columns"; fi
has '25,557,032'
has '^GPUs  *step  *samples/s  *weak'
has 'Why 8 GPUs do .* times the work of one'
has 'No --link was given: took nvlink4-nvswitch'
has 'Under the profiler'

good predict "${resnet[@]}" --link loopback:1,loopback:4 --csv
[ "$(wc -l <out)" -eq 3 ] || fail "not one row a point"
good predict "${resnet[@]}" --json
has '"parameters": 25557032'

# Another card: how much was carried over how is said.
good predict --model "$traces/gpt2_124m_b8.json.gz" --gpu a100-sxm-80
has 'carried over operator by operator'

# A scenario file gives the cluster, the trace the model.
cat >cluster.toml <<'TOML'
[model]
name = "gpt2-124m"
[cluster]
gpu = "h200-sxm"
gpus = [2, 4]
link = "nvlink4-nvswitch"
TOML
good predict cluster.toml --model "$traces/resnet50_b64.json.gz"
# In the table, and in that of the intervals.
[ "$(grep -cE '^ +[24] ' out)" -eq 4 ] || fail "not one row a GPU count"

bad '^stepsight: --seq: a traced step is what it was traced as' predict "${resnet[@]}" --seq 8
bad 'the trace records 25557032 parameters' predict "${resnet[@]}" --params 7
bad 'for a --model that is a trace' predict --model gpt2-124m --gpu h200-sxm --params 7
bad 'ddp, fsdp (zero3) or none' predict "${resnet[@]}" --strategy zero1
good predict cluster.toml --model "$traces/resnet50_b64.json.gz" --strategy fsdp
has 'FSDP in 1 units'
has 'No layers that repeat were found'
bad 'nearest known names' predict --model "$traces/resnet50_b64.json.gz" --gpu h200-sx
bad 'nowhere.json.gz: cannot be read' predict --model nowhere.json.gz --gpu h200-sxm
head -c 100000 "$traces/resnet50_b64.json.gz" >cut.json.gz
bad 'cut.json.gz: the compressed file ends early, after [0-9]* bytes' \
  predict --model cut.json.gz --gpu h200-sxm
gzip -dc "$traces/resnet50_b64.json.gz" >whole.json
head -c 1000000 whole.json >cut.json
bad 'cut.json: byte 1000000: the file ends in the middle' predict --model cut.json --gpu h200-sxm
sed 's/NVIDIA H200/Imaginary 9000/' whole.json >unknown.json
bad 'a card that is not known, "Imaginary 9000"' predict --model unknown.json --gpu h200-sxm

# Without shapes: inferred and said, or as given.
sed 's/"Input Dims"/"Lost"/g' whole.json >plain.json
good predict --model plain.json --gpu h200-sxm
has 'parameters inferred from the'
good predict --model plain.json --gpu h200-sxm --params 25557032
has '25557032 parameters as given'

# How sure, among unequal ranks, what it costs: as of a model.
good predict "${resnet[@]}" --gpus 1,8 --batch 64 --slow-factor 4 --rent-per-gpu-hour 3 --steps 10000
has 'How sure: nine of ten such trainings lie between'
has 'waiting for the slowest rank'
has 'What makes it unsure'
has 'Rented: 24.0 USD an hour; a step [0-9.e-]* ([0-9.e-]* to [0-9.e-]*)'
has 'The run takes [0-9.]* hours ('
good predict "${resnet[@]}" --gpus 8 --batch 64 --rent-per-gpu-hour 3 --json
has '"intervals"'
has '"exposed_communication_s": {'
has '"weakest_input"'
has '"per_million"'
good predict "${resnet[@]}" --gpus 1,8 --batch 64 --rent-per-gpu-hour 3 --csv
has 'step_time_p5_s,step_time_p95_s.*exposed_communication_p95_s.*cost_per_step_p95'
fields=$(awk -F, '{print NF}' out | sort -u | wc -l)
[ "$fields" -eq 1 ] || fail "rows of different lengths"
good predict "${resnet[@]}" --gpus 1,8 --batch 64 --rent-per-gpu-hour 3 --lang zh
has '主机下发一步所需的时间'
has '8 张 GPU 的成本'
bad '\[cost\] with a trace needs --batch' predict "${resnet[@]}" --gpus 8 --rent-per-gpu-hour 3
bad '\[loader\] with a trace needs --batch' predict "${resnet[@]}" --gpus 8 --node-samples-per-s 100
bad "tokens: a trace does not say how many" predict "${resnet[@]}" --gpus 8 --batch 64 --tokens 1e9

# How two steps differ adds up to the picosecond.
good predict "${resnet[@]}" --gpus 1,8 --between --csv
awk -F, '$1 == "step" { from = $2; to = $3; next } NR > 1 { sum += $4 - $5; parts += $3 }
         END { exit !(to > from && from + sum == to && parts == to) }' out ||
  fail "the causes do not add up to the steps"
good predict "${resnet[@]}" --gpus 1,8 --between
has 'copies for the exchange'
good predict "${resnet[@]}" --gpus 1,8 --link pcie3-x4-nop2p --between
has 'exposed bytes'
good predict "${resnet[@]}" --gpus 1,8 --between --json
has '"from_step_ps"'
bad '^stepsight: --between needs two points' predict "${resnet[@]}" --gpus 8 --between
# What would help, each simulated: cards, links, exchange and ranks; not what a trace cannot tell.
good predict "${resnet[@]}" --gpus 4 --batch 64 --link pcie4-x8-nop2p --slow-factor 1.2 --levers
has '^What would make a sample faster, each simulated'
has 'the slowest rank as fast as the others'
has 'A trace stands for one batch'
if grep -qE 'accumulat.*x|larger batch|zero[12]|compile = true' out; then fail "a lever that a trace cannot tell"; fi
if awk 'length($0) > 80' out | grep -v "$traces"; then fail "over 80 columns"; fi
# The same figure as the changed question gives.
good predict "${resnet[@]}" --gpus 4 --link pcie4-x8-nop2p --slow-factor 1.2 --levers --json
for kind in 'equal ranks' 'bucket size'; do
  grep -q "\"lever\": \"$kind\"" out || fail "no lever: $kind"
done
wanted=$(sed -n '/"lever": "equal ranks"/,/}/s/.*"step_time_s": \([0-9.e-]*\).*/\1/p' out | head -n 1)
good predict "${resnet[@]}" --gpus 4 --link pcie4-x8-nop2p --json
grep -q "\"step_time_s\": $wanted" out || fail "equal ranks: the lever says $wanted"
# Alone and undisturbed nothing of the machine helps, and it says so.
good predict "${resnet[@]}" --gpus 1 --levers
has 'No other link, exchange or rank'
good predict "${resnet[@]}" --gpus 4 --link pcie4-x8-nop2p --slow-factor 1.2 --levers --lang zh
has '跟踪文件只代表一种批量'
echo "predict with a trace: good"
