#!/usr/bin/env bash
# Sweeps from the outside: the same bytes from any number of threads, from shards that are merged, and
# from a sweep that was killed and goes on.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

cat >sweep.toml <<END
[model]
name = "gpt2-124m"
[training]
seq = [128, 256, 512]
batch = [$(seq -s, 1 400)]
[cluster]
gpu = ["h200-sxm", "a100-sxm-80"]
gpus = [1, 2, 4, 8]
link = "nvlink4-nvswitch"
[cost]
prices = "example-2026"
END

# Every point once, in order; what predict says of it.
good sweep sweep.toml -o one.csv --threads 1
has '^9600 points in '
[ "$(wc -l <one.csv)" -eq 9601 ] || fail "not one row a point"
[ "$(tail -n 1 one.csv | cut -d, -f1)" -eq 9599 ] || fail "last point"
wide=1 good predict --model gpt2-124m --gpu h200-sxm --gpus 8 --link nvlink4-nvswitch --seq 128 \
  --batch 3 --csv
step=$(tail -n 1 out | cut -d, -f9)
grep -q "^[0-9]*,gpt2-124m,h200-sxm,8,nvlink4-nvswitch,3,128,1,bf16,$step," one.csv ||
  fail "predict and sweep differ"

good sweep sweep.toml -o many.csv --threads 7
cmp one.csv many.csv || fail "threads change the bytes"
"$program" sweep sweep.toml >stdout.csv 2>err || fail "sweep to stdout"
cmp one.csv stdout.csv || fail "stdout has other bytes"

# Shards, in any order; a missing one is noticed.
for i in 1 2 3; do good sweep sweep.toml --shard $i/3 -o "part-{shard}.csv" --threads 2; done
good merge part-2.csv part-3.csv part-1.csv -o merged.csv
has '^9600 points of 3 files'
cmp one.csv merged.csv || fail "merged shards have other bytes"
bad 'points 3200 to 6399 are in no file' merge part-1.csv part-3.csv -o hole.csv
bad 'is in another file, too' merge one.csv part-2.csv -o twice.csv
SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 \
  "$program" sweep sweep.toml --shard auto -o 'auto-{shard}.csv' >/dev/null
cmp part-2.csv auto-2.csv || fail "--shard auto"

# JSON lines.
good sweep sweep.toml --json --shard 1/3 -o a.jsonl
good sweep sweep.toml --json --shard 2/3 -o b.jsonl
good merge b.jsonl a.jsonl -o ab.jsonl --json
has '"points":6400'
head -n 1 ab.jsonl | grep -q '^{"point":0,.*"step_time_s":[0-9.e-]*,.*"money":{.*}}$' || fail "JSON row"

# With intervals: the same points, each figure with its ends, whatever the number of threads.
good sweep --model gpt2-124m --gpu h200-sxm --gpus 1,2,8 --batch 1,4 --rent-per-gpu-hour 2 --intervals \
  --link nvlink4-nvswitch --threads 2 -o intervals.csv
good sweep --model gpt2-124m --gpu h200-sxm --gpus 1,2,8 --batch 1,4 --rent-per-gpu-hour 2 --intervals \
  --link nvlink4-nvswitch --threads 1 -o again.csv
cmp intervals.csv again.csv || fail "other bytes with other threads"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; width = NF; next }
  NF != width { exit 1 }
  { step = $at["step_time_s"]; cost = $at["cost_per_step"]; eff = $at["weak_efficiency"]
    if (!($at["step_time_p5_s"] < step && step < $at["step_time_p95_s"])) exit 1
    if (!($at["cost_per_step_p5"] < cost && cost < $at["cost_per_step_p95"])) exit 1
    if (!($at["weak_efficiency_p5"] <= eff && eff <= $at["weak_efficiency_p95"])) exit 1
    rows++ }
  END { exit rows != 6 }' intervals.csv || fail "an interval does not hold its figure"
wide=yes good sweep --model gpt2-124m --gpu h200-sxm --batch 1,4 --intervals --json
has '"intervals":{"step_time_s":{"p5":'

# A kill leaves some bytes of the whole, whatever the moment: none, half of the header, half of a row, all.
small=(sweep sweep.toml --gpu h200-sxm --seq 128)
good "${small[@]}" -o small.csv
size=$(stat -c %s small.csv)
header=$(head -n 1 small.csv | wc -c)
for cut in 0 7 "$((header - 1))" "$header" "$((header + 1))" "$((size - 1))" "$size" \
  $((RANDOM * 32768 % size + RANDOM)) $((RANDOM * 32768 % size + RANDOM)) $((RANDOM * 32768 % size + RANDOM)); do
  [ "$cut" -le "$size" ] || cut=$size
  head -c "$cut" small.csv >cut.csv.part
  good "${small[@]}" -o cut.csv --resume
  cmp small.csv cut.csv || fail "gone on with after $cut of $size bytes, a sweep has other bytes"
  rm cut.csv
done

# Killed at random moments, again and again, each time gone on with; at least once in the midst of it.
began=$(date +%s%N)
good sweep sweep.toml -o timed.csv --threads 2
took_ms=$((($(date +%s%N) - began) / 1000000))
part_way=0
for _ in 1 2 3 4 5 6 7 8; do
  "$program" sweep sweep.toml -o killed.csv --resume --threads 2 >/dev/null 2>&1 &
  pid=$!
  sleep "$(awk -v ms="$took_ms" -v r=$RANDOM 'BEGIN { printf "%.3f", ms * r / 32768 / 3000 }')"
  kill -KILL $pid 2>/dev/null || true
  wait $pid 2>/dev/null || true
  [ ! -e killed.csv ] || break
  if [ -s killed.csv.part ]; then
    part_way=$((part_way + 1))
    cmp -n "$(stat -c %s killed.csv.part)" one.csv killed.csv.part || fail "a killed sweep has written other bytes"
  fi
done
if [ ! -e killed.csv ]; then
  [ "$part_way" -gt 0 ] || fail "no kill hit a sweep of $took_ms ms in its midst"
  bad 'interrupted' sweep sweep.toml -o killed.csv
  good sweep sweep.toml -o killed.csv --resume
fi
cmp one.csv killed.csv || fail "a killed sweep has other bytes"
[ ! -e killed.csv.part ] || fail "the part file stays"

# "-" is standard output, for every command that writes text.
"$program" sweep sweep.toml --gpu h200-sxm --seq 128 -o - >dash.csv 2>err || fail "sweep -o -"
cmp small.csv dash.csv || fail "-o - has other bytes"
wide=1 good merge part-1.csv part-2.csv part-3.csv -o -
cmp one.csv out || fail "merge -o - has other bytes"
wide=1 good show gpus -o -
wide=1 good predict --model gpt2-124m --gpu h200-sxm --csv -o -
wide=1 good report --model gpt2-124m --gpu h200-sxm -o -
wide=1 good trace --model gpt2-124m --gpu h200-sxm -o -
has '^{'
bad 'give it a name' fit "$source_dir/tests/model/io/missing.json" --gpu h200-sxm -o -
bad 'needs -o' sweep sweep.toml --resume -o -
[ ! -e - ] && [ ! -e ./-.part ] || fail "a file is called -"

# What is no regular file stays what it is, and a symbolic link keeps pointing at its file.
mkfifo pipe
timeout 60 cat pipe >piped.csv &
good sweep sweep.toml --gpu h200-sxm --seq 128 -o pipe
wait $!
cmp small.csv piped.csv || fail "a pipe got other bytes"
[ -p pipe ] && [ ! -e pipe.part ] || fail "the pipe is replaced by a file"
timeout 60 cat pipe >piped.csv &
good merge part-1.csv part-2.csv part-3.csv -o pipe
wait $!
cmp one.csv piped.csv || fail "merge wrote other bytes into a pipe"
timeout 60 cat pipe >piped.txt &
wide=1 good show gpus
"$program" show gpus -o pipe
wait $!
cmp out piped.txt || fail "a pipe got another list"
[ -p pipe ] || fail "the pipe is replaced by a file"
ln -s behind.csv ahead.csv
ln -s ahead.csv link.csv
good sweep sweep.toml --gpu h200-sxm --seq 128 -o link.csv
good merge part-1.csv part-2.csv part-3.csv -o ahead.csv
[ -L link.csv ] && [ -L ahead.csv ] && cmp one.csv behind.csv || fail "a link is replaced by a file"
wide=1 good show gpus
"$program" show gpus -o link.csv
[ -L link.csv ] && cmp out behind.csv || fail "a link is replaced by a file"

# Who sets the pace: the loader, where the GPUs wait for it.
cat >loader.toml <<END
[model]
name = "resnet50"
[training]
batch = 64
[cluster]
gpu = "h200-sxm"
[loader]
loader_workers = [1, 64]
worker_samples_per_s = 100
END
wide=1 good sweep loader.toml
head -n 2 out | tail -n 1 | grep -q ',loader$' || fail "one worker of 100 images a second does not set the pace"
tail -n 1 out | grep -q ',loader$' && fail "64 workers set the pace"
wide=1 good predict loader.toml --csv
[ "$(grep -c ',loader,' out)" -eq 1 ] || fail "predict and sweep differ in what sets the pace"

# Rows of another sweep are not gone on with.
head -c 5000 one.csv >other.csv.part
bad 'another sweep' sweep sweep.toml --batch 5,6 -o other.csv --resume
head -n 3 one.csv | sed 's/,128,/,129,/' >wrong.csv.part
bad 'another sweep' sweep sweep.toml -o wrong.csv --resume

bad 'needs a scenario file' sweep
bad 'must be I/N' sweep sweep.toml --shard 4/3
export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
bad 'needs {shard}' sweep sweep.toml --shard auto -o x.csv
bad 'needs -o' sweep sweep.toml --resume
bad "'gpus' must be an integer" sweep sweep.toml --gpus 3,0
bad 'seq must be at most 1024' sweep sweep.toml --seq 2048
