#!/usr/bin/env bash
# Measures, on one machine, what a prediction for several GPUs rests on and is held against: collectives,
# overlap, host costs, then training runs. Needs CUDA, CMake, PyTorch with its NCCL; no network. Every stage
# keeps what it has when it is cut; a stage that fails does not cost the others.
#
#   tests/validation/measure_scaling.sh -o DIR [--budget-seconds 560] [--trial] [--gpus N]
#                                       [--stages build,collectives,overlap,host,train]
#
# DIR then holds facts.txt, log.txt, collectives.json, overlap.json, framework.json, runs.csv and traces.tar
# (each under 16 MB). --trial: every stage for a few seconds, on one GPU or more.
set -uo pipefail

# NVLink multicast stays off unless the caller says otherwise: it can put shared hosts out of service.
export NCCL_NVLS_ENABLE="${NCCL_NVLS_ENABLE:-0}"
export TORCH_SYMM_MEM_DISABLE_MULTICAST="${TORCH_SYMM_MEM_DISABLE_MULTICAST:-1}"
export NVSHMEM_DISABLE_NVLS="${NVSHMEM_DISABLE_NVLS:-1}"
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

out=""
budget=560
trial=no
gpus=""
stages=build,collectives,overlap,host,train
usage() { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while [[ $# -gt 0 ]]; do
  case $1 in
    -o) out=${2:-}; shift ;;
    --budget-seconds) budget=${2:-}; shift ;;
    --gpus) gpus=${2:-}; shift ;;
    --stages) stages=${2:-}; shift ;;
    --trial) trial=yes ;;
    *) usage ;;
  esac
  shift || usage
done
[[ -n $out && $budget =~ ^[0-9]+$ && ( -z $gpus || $gpus =~ ^[0-9]+$ ) ]] || usage

root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
log=$out/log.txt
build=${STEPSIGHT_CALIBRATE_BUILD:-$root/build/calibrate-scaling}
traces=$(mktemp -d)
trap 'rm -rf "$traces"' EXIT
start=$SECONDS
left() { echo $((budget - (SECONDS - start))); }
least() { echo $(($1 < $2 ? $1 : $2)); }
wants() { [[ ,$stages, == *,$1,* ]]; }
say() { echo "measure_scaling: [$((SECONDS - start)) s] $*" | tee -a "$log" >&2; }
failed=0

# stage NAME SECONDS COMMAND...: at most that long, output into the log.
stage() {
  local name=$1 limit=$2 code=0
  shift 2
  limit=$(least "$limit" "$(left)")
  if [[ $limit -lt 5 ]]; then
    say "$name: no time left"
    failed=1
    return
  fi
  say "$name: at most $limit s"
  timeout --signal=INT --kill-after=15 "$limit" "$@" > >(tee -a "$log") 2> >(tee -a "$log" >&2) || code=$?
  [[ $code -eq 0 ]] || { say "$name: exit code $code"; failed=1; }
}

{
  date -u
  nvidia-smi
  nvidia-smi topo -m
  nvidia-smi nvlink -s
  nvidia-smi -q -d CLOCK,POWER,PERFORMANCE
  lscpu
  env | grep -E '^(NCCL|TORCH|NVSHMEM|CUDA|OMP)_' | sort
  python3 -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())'
} >"$out/facts.txt" 2>&1
[[ -n $gpus ]] && export CUDA_VISIBLE_DEVICES=$(seq -s, 0 $((gpus - 1)))

programs_build() {
  # PyTorch's own NCCL, so that sweeps and training use the same.
  local nccl
  nccl=$(python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])' 2>/dev/null) || nccl=""
  [[ -n $nccl ]] && export NCCL_HOME=$nccl LD_LIBRARY_PATH=$nccl/lib:${LD_LIBRARY_PATH:-}
  local flags=(-DCMAKE_BUILD_TYPE=Release) card
  command -v ninja >/dev/null && flags+=(-G Ninja)
  card=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .)
  [[ $card =~ ^[0-9]+$ ]] && flags+=("-DCMAKE_CUDA_ARCHITECTURES=$card")
  cmake -S "$root/calibrate" -B "$build" "${flags[@]}" &&
    cmake --build "$build" --target calibrate_collectives calibrate_overlap -j "$(nproc)"
}

if [[ $trial == yes ]]; then
  collectives_s=10 overlap_s=20 host_s=12 train=(--trial --budget-seconds)
  size=(--quick)
else
  collectives_s=60 overlap_s=60 host_s=30 train=(--budget-seconds)
  size=(--full)
fi

if wants build; then
  export -f programs_build
  export root build
  stage build 150 bash -c programs_build
fi
nccl=$(python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])' 2>/dev/null) || nccl=""
[[ -n $nccl ]] && export LD_LIBRARY_PATH=$nccl/lib:${LD_LIBRARY_PATH:-}
if wants collectives; then
  stage collectives $((collectives_s + 25)) "$build/bin/calibrate_collectives" "${size[@]}" \
    --budget "$collectives_s" -o "$out/collectives.json"
fi
if wants overlap; then
  stage overlap $((overlap_s + 25)) "$build/bin/calibrate_overlap" "${size[@]}" --budget "$overlap_s" \
    -o "$out/overlap.json"
fi
if wants host; then
  stage host $((host_s + 25)) python3 "$root/calibrate/framework_operators.py" --quick --host-only \
    --budget "$host_s" -o "$out/framework.json"
fi
if wants train; then
  # It ends by itself a few seconds before it would be ended.
  train_s=$(($(left) - 20))
  [[ $trial == yes ]] && train_s=$(least "$train_s" 150)
  stage train $((train_s + 15)) python3 "$root/tests/validation/train_runs.py" "${train[@]}" "$train_s" \
    -o "$out/runs.csv" --traces "$traces"
fi

# One file of all traces that stays below 16 MB: the largest are left out first.
cd "$traces" || exit 1
while [[ -n $(ls -A) && $(du -cb -- * | tail -1 | cut -f1) -gt 15000000 ]]; do
  largest=$(ls -S | head -1)
  say "trace left out: $largest"
  rm -- "$largest"
done
[[ -n $(ls -A) ]] && tar -cf "$out/traces.tar" -- *
say "done: $(ls -s "$out" | tail -n +2 | tr -s ' \n' ' ')"
exit $failed
