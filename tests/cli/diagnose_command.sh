#!/usr/bin/env bash
# Runs of one's own through `stepsight diagnose`: flags, logs, samples, a table; verdicts and exit codes.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

run=(--gpus 2 --model gpt2-355m --batch 8 --gpu rtx-3090 --link pcie4-x16-nop2p --precision fp16)
says '^Verdict: explained' diagnose --t1 0.75 --tn 1.33 "${run[@]}"
says 'step on 2 GPUs +1.33 s' diagnose --t1 0.75 --tn 1.33 "${run[@]}"
says '^First:' diagnose --t1 0.75 --tn 1.33 "${run[@]}"
says '^Verdict: healthy' diagnose --t1 0.75 --tn 0.80 "${run[@]}"
says 'broken path or measurement' diagnose --t1 0.75 --tn 40 "${run[@]}"
says '"verdict": "unexplained"' diagnose --t1 0.75 --tn 40 "${run[@]}" --json
ends 1 'Verdict: explained' diagnose --t1 0.75 --tn 1.33 "${run[@]}" --check
ends 0 'Verdict: healthy' diagnose --t1 0.75 --tn 0.80 "${run[@]}" --check
says 'waiting for the data loader, as measured' diagnose --t1 0.75 --tn 1.33 --data-time 0.5 "${run[@]}"
says 'Verdict: cannot be' diagnose --t1 3 --tn 56 --gpus 2 --gpu rtx-a6000
says 'Verdict: too few facts' diagnose --t1 1 --tn 2 --gpus 2
says 'would tell most: the model' diagnose --t1 1 --tn 2 --gpus 2
says '^Verdict: healthy' diagnose --rate1 100 --raten 190 --gpus 2

refuses '--gpus: how many' diagnose --t1 1 --tn 2
refuses 'the step on N GPUs is missing' diagnose --t1 1 --gpus 2
refuses 'no link "wrie"' diagnose --t1 1 --tn 2 --gpus 2 --gpu rtx-3090 --link wrie
refuses 'not a list' diagnose --t1 1 --tn 2 "${run[@]}" --seq 512,1024
refuses 'not both' diagnose runs.csv --tn 1 --gpus 2
refuses 'cannot be read' diagnose none.csv

for i in $(seq 0 30); do echo "iter $i: loss 9.0, time 750.00ms, mfu 30.00%"; done >one.log
for i in $(seq 0 30); do echo "iter $i: loss 9.0, time 1330.00ms, mfu 17.00%"; done >two.log
says 'two.log: nanoGPT, steady step 1.33 s' diagnose --log1 one.log --logn two.log "${run[@]}"
says '^Verdict: explained' diagnose --log1 one.log --logn two.log "${run[@]}"

{
  echo '# gpu    pwr     sm    mem   mclk   pclk'
  for _ in $(seq 1 20); do
    echo '    0    300     97     40   9501   1800'
    echo '    1    120     25     10   9501   1800'
  done
} >dmon.txt
says 'GPU 1 is not' diagnose --t1 0.75 --tn 1.33 --utilisation dmon.txt "${run[@]}"
says 'yes\*' diagnose --t1 0.75 --tn 1.33 --utilisation dmon.txt "${run[@]}"
echo 'gpu-a:1:1 [0] NCCL INFO Channel 00 : 0[1000] -> 1[21000] via SHM/direct/direct' >nccl.log
says 'no P2P: through host memory' diagnose --t1 0.75 --tn 1.33 --nccl-log nccl.log --gpus 2 \
  --model gpt2-355m --batch 8 --gpu rtx-3090 --link pcie4-x16-p2p --precision fp16

says '[0-9]+ healthy, [0-9]+ explained' diagnose "$source_dir/tests/validation/own_two_gpus_runs.csv"
# One job on several numbers of GPUs (ultralytics/yolov5 12424).
printf 'gpus,seconds\n4,9000\n8,8460\n16,8700\n32,9960\n' >epochs.csv
says '^100 % of the time on 32 GPUs is not shared out' diagnose --table epochs.csv --same-work
printf '| GPUs | Throughput (img/s) |\n| --- | --- |\n| 1 | 1,021 |\n| 8 | 7,890 |\n' >results.md
says '7.73x +- +healthy' diagnose --table results.md
refuses 'no two rows' diagnose --table one.log

"$program" diagnose --t1 1 --tn 1.05 --gpus 2 -o report.txt
grep -q healthy report.txt || fail '-o'

# In Chinese no English sentence is left, whatever is found: only names, keys and commands.
for facts in "--t1 0.25 --tn 0.26" "--t1 0.25 --tn 0.34" "--t1 0.25 --tn 0.6" "--t1 0.25 --tn 2" "--t1 0.25 --tn 20" \
  "--t1 0.05 --tn 0.07" "--t1 0.5 --tn 0.55" "--tn 0.5" "--t1 0.2 --tn 0.09" "--t1 0.2 --tn 0.3 --data-time 0.1"; do
  for machine in "--model gpt2-124m --batch 8 --seq 1024 --gpu rtx-4090 --link pcie4-x16-p2p" \
    "--model bert-large --batch 8 --seq 512 --gpu a100-sxm-80 --link nvlink3-nvswitch" "--params 124e6" ""; do
    # shellcheck disable=SC2086
    "$program" diagnose --gpus 4 $facts $machine --lang zh >out 2>err || [ $? -eq 1 ] || fail "diagnose --gpus 4 $facts $machine"
    if sed 's/`[^`]*`//g' out | grep -E '[A-Za-z]+ [a-z]+ [a-z]+ [a-z]+'; then
      fail "English in: diagnose --gpus 4 $facts $machine --lang zh"
    fi
  done
done
