#!/usr/bin/env bash
# predict, show and cost from the outside: what reaches which stream, the exit code, and that every
# line fits a terminal of 80 columns. Figures are not looked at: they follow the measurements.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

for scenario in "$source_dir"/scenarios/*.toml; do good predict "$scenario"; done

flags=(--model llama2-7b --gpu h200-sxm --batch 4 --seq 2048)
good predict "${flags[@]}" --gpus 1,2,4,8
has '^GPUs  *step  *tokens/s  *weak'
has 'Why 8 GPUs do .* times the work of one'
has 'No --link was given: took nvlink4-nvswitch'
[ "$(sed '/^How sure/,$d' out | grep -cE '^ +[1248] ')" -eq 4 ] || fail "not one row a GPU count"
has '^How sure: nine of ten such trainings lie between'
has 'inside what was calibrated'
# Of images and of tokens: neither name would be true of all rows.
good predict --model resnet50,gpt2-124m --gpu h200-sxm --batch 8
has '^GPUs  *model  *step  *per s '
good predict "${flags[@]}" --gpus 8 --levers
has 'What would make a sample faster'
wide=1 good predict "${flags[@]}" --gpus 8 --levers --json
has '"measure_first"'
has '"lever"'
good predict "${flags[@]}"
if grep -qe 'weak' out; then fail "one GPU has nothing to scale"; fi

# Flags replace keys of the file; the order of flags is the order of the axes.
good predict "$source_dir/scenarios/second_card.toml" --gpus 2
[ "$(sed '/^How sure/,$d' out | grep -cE '^ +[1248] ')" -eq 1 ] || fail "--gpus did not replace the file's"
wide=1 good predict "${flags[@]}" --optimizer sgd,adamw --compile false,true --csv
[ "$(cut -d, -f1,2 out | tr '\n' ' ')" = \
  "optimizer,compile sgd,false sgd,true adamw,false adamw,true " ] || fail "order of the axes"

# -o writes the file and nothing to stdout; a folder that is not there is an error.
"$program" predict "${flags[@]}" --json -o answer.json >out 2>err || fail "-o"
[ ! -s out ] && [ -s answer.json ] || fail "-o does not write the file"
bad 'nowhere' predict "${flags[@]}" -o nowhere/answer.txt

bad 'needs a scenario file' predict
bad 'nearest known names: llama2-7b' predict --model llama2-7 --gpu h200-sxm
bad 'h200-sxm' predict --model llama2-7b --gpu h200-sx
bad "'batch' must be an integer" predict "${flags[@]/4/many}"
bad "no link 'nvlnk'; known: nvlink4-nvswitch" predict "${flags[@]}" --gpus 2 --link nvlnk
good predict "${flags[@]}" --gpus 4 --link pcie4-x16-nop2p
has 'pcie4-x16-nop2p: class value'
good predict "${flags[@]}" --gpus 8 --link nvlink4-nvswitch --strategy fsdp
has 'of parameters and gradients a step'
has 'copying to and from gathered units'
# Sixteen thousand GPUs still fit 80 columns.
good predict --model llama3-405b --gpu h100-sxm --gpus 16384 --nodes 2048 --accumulation 16 \
  --link nvlink4-nvswitch+8x400G-ib --tensor 8 --pipeline 16 --strategy zero1 --seq 8192
bad 'did you mean `--batch`' predict --bach 4
wide=1 good predict "${flags[@]}" --gpus 8 --link nvlink4-nvswitch --lang zh
has '扩展效率'
wide=1 good predict "${flags[@]}" --gpus 1,8 --link nvlink4-nvswitch --between --lang zh
has '从 gpus = 1 到 gpus = 8'
has '为通信做的复制'
bad 'lang' predict "${flags[@]}" --lang xx
# What added cards bring, with its ends; nothing where a line of numbers of GPUs begins.
wide=1 good predict --model gpt2-124m --gpu h200-sxm --gpus 1,2,8 --batch 1,4 --link nvlink4-nvswitch --tokens 1e9 \
  --rent-per-gpu-hour 2 --csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; width = NF; next }
  NF != width { exit 1 }
  $at["gpus"] == 1 { if ($at["added_gpus"] != "" || $at["share_of_first"] != "") exit 1; first++; next }
  { for (i in figures) delete figures[i]
    split("samples_per_s_per_added_gpu share_of_first added_cost days_saved cost_per_added_million", figures, " ")
    for (i in figures) { f = figures[i]
      if ($at[f] == "" || !($at[f "_p5"] + 0 <= $at[f] + 0 && $at[f] + 0 <= $at[f "_p95"] + 0)) exit 1 }
    if ($at["worth_it"] !~ /^(yes|no)$/ || !($at["worth_it_probability"] >= 0 && $at["worth_it_probability"] <= 1)) exit 1
    added += $at["added_gpus"] }
  END { exit !(first == 2 && added == 14) }' out || fail "added cards in the CSV"
bad 'csv' predict "${flags[@]}" --json --csv

for what in models gpus links profiles; do
  good show $what
  wide=1 good show $what --json
done
good show models llama3-8b
has '^mlp down  *gemm 2048 x 4096 x 14336'
good show profiles h200-sxm
has 'peak_TFLOPS'
good show gpus h200-sxm
good show links nvlink4-nvswitch
has 'all_reduce  *8  *26.2 MB'
good show links pcie4-x16-nop2p
has 'all_reduce .*class value'
bad 'did you mean `nvlink4-nvswitch`' show links nvlink4-nvswitc
bad 'nearest known names: llama3-8b' show models llama3-8
bad 'cards' show cards

# How two points differ, cause by cause: whole picoseconds that add up.
good predict --model gpt2-124m --gpu h200-sxm --gpus 1,8 --batch 4 --between
has 'From gpus = 1 to gpus = 8'
good predict --model gpt2-124m --gpu a100-sxm-80 --gpus 8 --batch 1 --between --csv \
  --link pcie4-x16-nop2p,nvlink3-nvswitch
awk -F, 'NR > 1 && $1 != "step" { from += $2; to += $3; more += $4; less += $5; if ($2 < 0 || $3 < 0 || $4 < 0 || $5 < 0) bad = 1 }
  $1 == "step" { good = !bad && from == $2 && to == $3 && $3 == $2 + more - less && more + less > 0 }
  END { exit !good }' out || fail "the parts do not add up"
good predict --model gpt2-124m --gpu h200-sxm --gpus 1,8 --batch 4 --between --json
has '"exposed bytes"'
bad 'needs two points' predict --model gpt2-124m --gpu h200-sxm --gpus 8 --batch 4 --between

good cost gemm --gpu h200-sxm --m 8192 --n 4096 --k 4096 --dtype bf16
has 'TFLOP/s'
good cost all_reduce --gpu h200-sxm --gpus 8 --bytes 1e9
has 'busbw'
printf 'note,op,m,n,k,dtype\n"a, b",gemm,8192,4096,4096,bf16\n,gemm,100000000,7,7,fp8\n' >shapes.csv
good cost --gpu h200-sxm --csv shapes.csv
has '^note,op,m,n,k,dtype,time_us,measured$'
has '^"a, b",gemm,8192,4096,4096,bf16,[0-9.]*,yes$'
has '^,gemm,100000000,7,7,fp8,[0-9.]*,no$'
printf 'op,m,n,k,time_us\ngemm,1,1,1,5\n' >timed.csv
bad "'time_us' already" cost --gpu h200-sxm --csv timed.csv
printf 'op,m,n,k\ngemm,1,x,1\ngemm,1,1,-1\n' >wrong.csv
bad 'wrong.csv:3:' cost --gpu h200-sxm --csv wrong.csv
grep -q 'wrong.csv:2:8' err || fail "only the last mistake of a table"
bad 'needs an operator' cost --gpu h200-sxm

# Each command shows one worked example, and reads well on a terminal.
for command in predict show cost validate; do
  good $command --help
  has '^Example:$'
  has "^  stepsight $command "
done

# A sweep over many keys with long values still fits the terminal.
cat >wide.toml <<'TOML'
[model]
name = ["llama2-7b", "llama3.2-1b"]
[training]
batch = [1, 2]
seq = [1024, 2048]
precision = ["bf16", "amp-bf16"]
[cluster]
gpu = "h200-sxm"
gpus = [8, 16]
gpus_per_node = 8
link = ["nvlink4-nvswitch+8x400G-ib", "nvlink4-nvswitch+8x400G-roce"]
[parallel]
strategy = ["ddp", "fsdp"]
TOML
good predict wide.toml
has '^ *strategy  *step'

echo "predict, show, cost: good"
