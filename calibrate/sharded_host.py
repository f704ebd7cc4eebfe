#!/usr/bin/env python3
"""Measure what the host spends on sharded parameters: the hooks and collectives of torch's fully_shard (FSDP2).

A small transformer whose kernels are too short to hold the host up, each block a unit, on two GPUs where there
are two (one process each), else on one with a group of one. Writes the same kind of file as
framework_operators.py: host_sharded_forward, host_sharded_backward, host_sharded_optimizer, and beside them
the same model's phases without sharding.
"""
import argparse
import os
import sys
import tempfile
import time

import torch

import framework_operators as operators

# NVLink multicast stays off unless the caller says otherwise: it can put shared hosts out of service.
for variable, value in (("NCCL_NVLS_ENABLE", "0"), ("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1"), ("NVSHMEM_DISABLE_NVLS", "1")):
    os.environ.setdefault(variable, value)


def sharded_model(family, layers, mesh):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    model = operators.Model(family, layers).to("cuda", torch.float32)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def phases(family, layers, mesh, repeats, ranks):
    """The phases of a step with sharded parameters, and beside them of the same model without."""
    for sharded in (False, True):
        if sharded:
            model = sharded_model(family, layers, mesh)
        else:
            model = operators.Model(family, layers).to("cuda", torch.bfloat16)
        step_phases(model, family, layers, repeats, ranks, sharded)


def step_phases(model, family, layers, repeats, ranks, sharded):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, 512, (1, 64), device="cuda")
    steps = [operators.host_step(model, model, optimizer, tokens, False, False) for _ in range(repeats + 4)][4:]
    shape = {"family": family, "layers": layers, "precision": "bf16", "compile": False,
             "tensors": sum(1 for _ in model.parameters()), "ranks": ranks}
    if sharded:
        shape["units"] = layers + 1
    name = "host_sharded_" if sharded else "host_"
    for phase, samples in zip(("forward", "backward", "optimizer"), zip(*steps)):
        operators.add_point(name + phase, [s * 1e6 for s in samples], **shape)


def work(rank, ranks, folder, args):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    operators.ARGS = args
    operators.STARTED = time.time()
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    mesh = init_device_mesh("cuda", (ranks,))
    before = operators.nvidia_smi(operators.CLOCKS)
    for family in ("gpt", "llama"):
        for layers in (4, 12, 24):
            # All ranks have to go on or stop together.
            late = torch.tensor([time.time() - operators.STARTED > args.budget], device="cuda", dtype=torch.int32)
            dist.all_reduce(late)
            if late.item():
                break
            phases(family, layers, mesh, 8 if args.quick else 20, ranks)
            if rank == 0:
                operators.L2_BYTES = 0
                operators.write(args.output, before)  # an interrupted run leaves what it has
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="sharded-host.json", help="measurement file to write")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--budget", type=float, default=30, help="seconds after which no new point is begun")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("sharded_host: no CUDA GPU is visible", file=sys.stderr)
        return 2
    args.output = os.path.abspath(args.output)
    ranks = min(2, torch.cuda.device_count())
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (ranks, folder, args), nprocs=ranks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
