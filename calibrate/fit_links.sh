#!/bin/sh
# Fits the shipped link files (scenarios/links) from the sweeps in calibrate/measurements/imported,
# whose INDEX.csv says where each comes from. Run from the repository's root after
# `./stepsight --version` has built the program, or with STEPSIGHT naming another one.
set -eu
sweeps=calibrate/measurements/imported/nccl
mkdir -p scenarios/links

# link NAME TITLE CLASS GPUS_PER_NODE SWEEP...
link() {
  name=$1 title=$2 class=$3 per_node=$4
  shift 4
  files=
  for sweep in "$@"; do files="$files $sweeps/$sweep.csv"; done
  # shellcheck disable=SC2086
  "${STEPSIGHT:-./stepsight}" fit $files --link-only --link "$name" --title "$title" \
    --link-class "$class" --gpus-per-node "$per_node" -o "scenarios/links/$name.toml"
}

link nvlink3-nvswitch 'A100 SXM on a board of eight with NVSwitch' \
  nvlink3-nvswitch 8 \
    a100_sxm_nccl_2.27.3_2gpu ext_vtrain_a100_3gpu a100_sxm_nccl_2.27.3_4gpu \
    ext_vtrain_a100_5gpu ext_vtrain_a100_6gpu ext_vtrain_a100_7gpu \
    a100_sxm_nccl_2.27.3_8gpu
link nvlink4-nvswitch 'H100 SXM on a board of eight with NVSwitch' \
  nvlink4-nvswitch 8 \
    h100_sxm_nccl_2.29.2_2gpu h100_sxm_nccl_2.29.2_4gpu h100_sxm_nccl_2.29.2_8gpu \
    ext_h100_8gpu_dgxc ext_h100_8gpu_p5
link nvlink5-nvswitch 'B200 SXM on a board of eight with NVSwitch' \
  nvlink5-nvswitch 8 \
    b200_sxm_nccl_2.29.2_2gpu b200_sxm_nccl_2.29.2_4gpu b200_sxm_nccl_2.29.2_8gpu \
    b300_sxm_nccl_2.29.2_2gpu b300_sxm_nccl_2.29.2_4gpu b300_sxm_nccl_2.29.2_8gpu
link nvlink5-nvl72 'GB200 NVL72: a rack as one NVLink domain' \
  nvlink5-nvl72 72 \
    gb200_nccl_2.29.2_2gpu gb200_nccl_2.29.2_4gpu ext_gb200_72gpu_1rack_coreweave
link nvlink5-nvl72+72x400G-ib 'GB200 NVL72 racks over InfiniBand' \
  nvlink5-nvl72+72x400G-ib 72 \
    ext_gb200_144gpu_2rack_coreweave ext_gb200_1440gpu_20rack_coreweave
link nvlink2-mesh 'V100 SXM2, hybrid cube mesh of eight' \
  nvlink2-mesh 8 \
    ext_vtrain_v100_2gpu ext_vtrain_v100_3gpu ext_vtrain_v100_4gpu \
    ext_vtrain_v100_5gpu ext_vtrain_v100_6gpu ext_vtrain_v100_7gpu \
    ext_vtrain_v100_8gpu ext_v100_sxm2_8gpu
link nvlink4-alltoall 'GH200 nodes of four, every pair joined' \
  nvlink4-alltoall 4 \
    ext_sailor_gh-96_2gpu_all_reduce ext_sailor_gh-96_2gpu_all_gather \
    ext_sailor_gh-96_2gpu_reduce_scatter ext_sailor_gh-96_2gpu_alltoall \
    ext_sailor_gh-96_4gpu_all_reduce ext_sailor_gh-96_4gpu_all_gather \
    ext_sailor_gh-96_4gpu_reduce_scatter ext_sailor_gh-96_4gpu_alltoall
link l40s-pcie4 'L40S server, PCIe 4.0' \
  pcie4-x16-p2p-pxb 8 \
    l40s_nccl_2.27.3_2gpu l40s_nccl_2.27.3_8gpu
link rtx-pro-6000-pcie5 'RTX PRO 6000 Blackwell server, PCIe 5.0 x16' \
  pcie5-x16-p2p-pxb 8 \
    rtx_pro_6000_server_nccl_2.29.2_2gpu rtx_pro_6000_server_nccl_2.29.2_4gpu \
    rtx_pro_6000_server_nccl_2.29.2_8gpu
link rtx4090-nop2p-server 'RTX 4090 in a two-socket server, no P2P, in containers' \
  pcie4-x16-nop2p 8 \
    ext_rtx4090_2gpu_nop2p_a ext_rtx4090_2gpu_nop2p_b ext_rtx4090_4gpu_nop2p_k8s
link rtx4090-p2p 'RTX 4090, PCIe 4.0, P2P by a patched driver' \
  pcie4-x16-p2p-1s 8 \
    ext_rtx4090_4gpu_p2p_patched ext_rtx4090_4gpu_48GB_p2p
link rtx3090-8x-server 'RTX 3090, eight in a server, NVLink bridges, no P2P beside them' \
  nvlink3-bridge-pcie4-nop2p 8 \
    ext_sailor_rtx-3090_2gpu_all_reduce ext_sailor_rtx-3090_2gpu_all_gather \
    ext_sailor_rtx-3090_2gpu_reduce_scatter ext_sailor_rtx-3090_2gpu_alltoall \
    ext_sailor_rtx-3090_4gpu_all_reduce ext_sailor_rtx-3090_4gpu_all_gather \
    ext_sailor_rtx-3090_4gpu_reduce_scatter ext_sailor_rtx-3090_4gpu_alltoall \
    ext_sailor_rtx-3090_8gpu_all_reduce ext_sailor_rtx-3090_8gpu_all_gather \
    ext_sailor_rtx-3090_8gpu_reduce_scatter ext_sailor_rtx-3090_8gpu_alltoall
link titan-rtx-8x-server 'Titan RTX, eight in a PCIe 3.0 server, no P2P' \
  pcie3-x16-nop2p-1s 8 \
    ext_sailor_titan-rtx_2gpu_all_reduce ext_sailor_titan-rtx_2gpu_all_gather \
    ext_sailor_titan-rtx_2gpu_reduce_scatter ext_sailor_titan-rtx_2gpu_alltoall \
    ext_sailor_titan-rtx_4gpu_all_reduce ext_sailor_titan-rtx_4gpu_all_gather \
    ext_sailor_titan-rtx_4gpu_reduce_scatter ext_sailor_titan-rtx_4gpu_alltoall \
    ext_sailor_titan-rtx_8gpu_all_reduce ext_sailor_titan-rtx_8gpu_all_gather \
    ext_sailor_titan-rtx_8gpu_reduce_scatter ext_sailor_titan-rtx_8gpu_alltoall
link rtx2080-8x-server 'RTX 2080, eight in a PCIe 3.0 server, no P2P' \
  pcie3-x16-nop2p-1s 8 \
    ext_sailor_rtx-2080_2gpu_all_reduce ext_sailor_rtx-2080_2gpu_all_gather \
    ext_sailor_rtx-2080_2gpu_reduce_scatter ext_sailor_rtx-2080_2gpu_alltoall \
    ext_sailor_rtx-2080_4gpu_all_reduce ext_sailor_rtx-2080_4gpu_all_gather \
    ext_sailor_rtx-2080_4gpu_reduce_scatter ext_sailor_rtx-2080_4gpu_alltoall \
    ext_sailor_rtx-2080_8gpu_all_reduce ext_sailor_rtx-2080_8gpu_all_gather \
    ext_sailor_rtx-2080_8gpu_reduce_scatter ext_sailor_rtx-2080_8gpu_alltoall
link rtx2080ti-nvlink-bridge 'RTX 2080 Ti pair with an NVLink bridge' \
  nvlink2-bridge-pcie3-nop2p 2 \
    ext_rtx2080ti_2gpu_nvlink_allgather
link a100-pcie-nvlink-pairs 'A100 80GB PCIe, NVLink bridges on pairs (Azure NC A100 v4)' \
  2x-nvlink3-pairs-nv12-pcie4 4 \
    ext_a100_pcie_nvlink_2gpu_ncv4 ext_a100_pcie_nvlpair_4gpu_ncv4
link a100-pcie-2s 'A100 40GB PCIe, four over two sockets, no bridges' \
  pcie4-x16-p2p-2s 4 \
    ext_a100_40gb_pcie_4gpu
link pcie3-1s-plx 'Pascal cards behind PCIe 3.0 switches of one root (DeepBench)' \
  pcie3-x16-p2p-1s 8 \
    ext_deepbench_1080ti_2gpu ext_deepbench_1080ti_4gpu ext_deepbench_1080ti_8gpu \
    ext_deepbench_titanx_pascal_2gpu ext_deepbench_titanx_pascal_4gpu \
    ext_deepbench_titanx_pascal_8gpu
link pcie3-2s-plx 'Maxwell and Pascal cards, PCIe 3.0 switches on two sockets (DeepBench)' \
  pcie3-x16-p2p-2s 8 \
    ext_deepbench_p100_2gpu ext_deepbench_p100_4gpu ext_deepbench_p100_8gpu \
    ext_deepbench_m40_2gpu ext_deepbench_m40_4gpu ext_deepbench_m40_8gpu \
    ext_deepbench_titanx_2gpu ext_deepbench_titanx_4gpu ext_deepbench_titanx_8gpu
link nvlink4-nvswitch+32x100G-efa 'H100 SXM machines over EFA (p5.48xlarge)' \
  nvlink4-nvswitch+32x100G-efa 8 \
    ext_h100_16gpu_2node_p5_efa
link nvlink3-nvswitch+4x100G-efa 'A100 80GB SXM machines over EFA (p4de.24xlarge)' \
  nvlink3-nvswitch+4x100G-efa 8 \
    ext_a100_80gb_16gpu_2node_p4de_efa
link nvlink4-nvswitch+8x400G-ib 'H100 SXM machines over InfiniBand NDR' \
  nvlink4-nvswitch+8x400G-ib 8 \
    ext_h100_96gpu_12node_coreweave
link 1x400G-roce 'H200, one GPU and one adapter of each machine (GKE, GPUDirect RDMA)' \
  1x400G-roce 1 \
    ext_h200_2node_2gpu_1nic
link 1x200G-slingshot 'GH200, one GPU of each machine over Slingshot-11' \
  1x200G-slingshot 1 \
    ext_gh200_2node_2gpu_slingshot
link 1x10G-tcp 'V100 PCIe, one of each machine over 10 GbE' \
  pcie3-x16+1x10G-tcp 1 \
    ext_v100_pcie_2node_2gpu
