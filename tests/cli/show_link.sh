#!/usr/bin/env bash
# A link's curves, a machine's log held against them, and topology files in a scenario.
set -euo pipefail
# shellcheck source=tests/cli/streams.bash
. "$2/tests/cli/streams.bash"

cat >all_reduce.log <<'EOF'
#  Rank  0 Group  0 Pid  1 on      gpu-a device  0 [0000:01:00] NVIDIA GeForce RTX 4090
#  Rank  1 Group  0 Pid  1 on      gpu-a device  1 [0000:21:00] NVIDIA GeForce RTX 4090
gpu-a:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
#       size         count      type   redop    root     time   algbw   busbw  #wrong
     1048576        262144     float     sum      -1    283.1    3.70    3.70       0
    67108864      16777216     float     sum      -1    12610    5.32    5.32       0
EOF
says 'a link class: nobody has measured it' show link pcie4-x16-nop2p
says 'hybrid cube mesh' show link nvlink2-mesh
says '"origin": "measured"' show link nvlink2-mesh --json
says '^broken: [0-9]+ %' show link pcie4-x16-p2p --against all_reduce.log
says 'the log says SHM' show link pcie4-x16-p2p --against all_reduce.log
says '"verdict": "fine"' show link pcie4-x16-nop2p --against all_reduce.log --json
refuses 'no link' show link wrie
refuses 'neither a measured link' show link wrie --against all_reduce.log
refuses '--against goes with' show links --against all_reduce.log
refuses 'needs a name' show link

# The same log makes a link of one's own, and that link predicts.
says 'all_reduce over 2' fit all_reduce.log --link my-box --link-only \
  --link-class pcie4-x16-nop2p -o my-box.toml
refuses 'no link class' fit all_reduce.log --link my-box --link-only
says 'Each GPU exchanges' predict --model bert-base --gpu h200-sxm --gpus 2 \
  --batch 8 --seq 128 --link ./my-box.toml

printf 'GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n' >topo.txt
says 'Each GPU exchanges' predict --model bert-base --gpu h200-sxm --gpus 2 \
  --batch 8 --seq 128 --link pcie4-x16-nop2p --topo topo.txt
printf 'GPU0 GPU1\nGPU0 X WIRE\nGPU1 NV4 X\n' >topo.txt
refuses "topo.txt:2:1: 'WIRE' is no connection" predict --model bert-base --gpu h200-sxm --gpus 2 \
  --batch 8 --seq 128 --link pcie4-x16-nop2p --topo topo.txt
