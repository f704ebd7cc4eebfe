#!/usr/bin/env python3
"""Train GPT-2 and Llama on one and several GPUs and time the steps: measured rows for `stepsight validate`.

DDP (batches, buckets, accumulation, bf16 and fp32 gradients), FSDP2 and compiled models, on all GPUs of this
machine and on fewer; every row stands in the file as soon as it was measured. Random tokens, fused AdamW. What
is trained stands in train_matrix.py.
Examples:
  python3 tests/validation/train_runs.py -o runs.csv --traces traces --budget-seconds 360
  python3 tests/validation/train_runs.py --trial -o trial.csv           # a minute on one GPU
  python3 tests/validation/train_runs.py --list --gpus 2 --placeholder-s 1 -o to_predict.csv
"""
import argparse
import contextlib
import datetime
import fcntl
import gc
import gzip
import json
import math
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

import train_matrix as matrix

WARMUP, TIMED, PROFILED, TRACED = 5, 12, 3, 2
TRACE_BYTES = 15_000_000
TODO, TAKEN, DONE, LEFT_OUT, FAILED = range(5)

# NVLink multicast stays off unless the caller says otherwise: it can put shared hosts out of service.
for variable, value in (("NCCL_NVLS_ENABLE", "0"), ("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1"), ("NVSHMEM_DISABLE_NVLS", "1")):
    os.environ.setdefault(variable, value)


def say(text):
    print(f"train_runs: {text}", file=sys.stderr, flush=True)


# --- models ----------------------------------------------------------------------------------------

def build_model(shape, device, dtype, apart=False):
    """The shape as a module whose forward takes tokens and targets and returns the loss. `apart`: q, k, v, gate
    and up are products of their own, and positions are rotary."""
    import torch
    import torch.nn.functional as F
    nn = torch.nn
    gpt = shape.family == "gpt"

    def norm():
        return nn.LayerNorm(shape.hidden) if gpt else nn.RMSNorm(shape.hidden)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_width, self.kv_width = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
            self.norm1, self.norm2 = norm(), norm()
            if apart:
                self.q = nn.Linear(shape.hidden, self.q_width, bias=False)
                self.k, self.v = (nn.Linear(shape.hidden, self.kv_width, bias=False) for _ in range(2))
                self.gate = nn.Linear(shape.hidden, shape.ffn, bias=False)
            else:
                self.qkv = nn.Linear(shape.hidden, self.q_width + 2 * self.kv_width, bias=gpt)
            self.proj = nn.Linear(self.q_width, shape.hidden, bias=gpt)
            self.up = nn.Linear(shape.hidden, shape.ffn if gpt or apart else 2 * shape.ffn, bias=gpt)
            self.down = nn.Linear(shape.ffn, shape.hidden, bias=gpt)

        def forward(self, x, turn):
            b, t, c = x.shape
            n = self.norm1(x)
            if apart:
                q, k, v = self.q(n), self.k(n), self.v(n)
            else:
                q, k, v = self.qkv(n).split((self.q_width, self.kv_width, self.kv_width), dim=2)
            q = q.view(b, t, shape.heads, shape.head_dim).transpose(1, 2)
            k = k.view(b, t, shape.kv_heads, shape.head_dim).transpose(1, 2)
            v = v.view(b, t, shape.kv_heads, shape.head_dim).transpose(1, 2)
            if turn is not None:
                q, k = rotated(q, turn), rotated(k, turn)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shape.kv_heads != shape.heads)
            x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, self.q_width))
            n = self.norm2(x)
            if gpt:
                h = F.gelu(self.up(n))
            elif apart:
                h = F.silu(self.gate(n)) * self.up(n)
            else:
                gate, up = self.up(n).chunk(2, dim=2)
                h = F.silu(gate) * up
            return x + self.down(h)

    def rotated(x, turn):
        """Rotary positions as they are usually written: halves of a head's width turned against each other."""
        cosine, sine = turn
        a, b = x.chunk(2, dim=-1)
        return x * cosine + torch.cat((-b, a), dim=-1) * sine

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(shape.vocab, shape.hidden)
            self.positions = nn.Embedding(shape.seq, shape.hidden) if gpt else None
            self.blocks = nn.ModuleList(Block() for _ in range(shape.layers))
            self.norm = norm()
            self.head = None if gpt else nn.Linear(shape.hidden, shape.vocab, bias=False)
            if apart:
                rate = 10000.0 ** (-torch.arange(0, shape.head_dim, 2).float() / shape.head_dim)
                angle = torch.outer(torch.arange(shape.seq).float(), rate).repeat(1, 2)
                self.register_buffer("cosine", angle.cos(), persistent=False)
                self.register_buffer("sine", angle.sin(), persistent=False)

        def forward(self, tokens, targets):
            x = self.embedding(tokens)
            if self.positions is not None:
                x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
            turn = (self.cosine.to(x.dtype), self.sine.to(x.dtype)) if apart else None
            for block in self.blocks:
                x = block(x, turn)
            x = self.norm(x)
            logits = F.linear(x, self.embedding.weight) if self.head is None else self.head(x)
            return F.cross_entropy(logits.float().view(-1, shape.vocab), targets.view(-1))

    torch.manual_seed(1)
    with torch.device(device):
        model = Decoder()
    model = model.to(device=device, dtype=dtype)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.normal_(0, 0.02)
    return model


class Trainee:
    """A model with its optimizer, kept while runs need the same one."""

    def __init__(self, run, shape, device):
        import torch
        self.key = run.key
        wide = run.precision == "amp" or run.strategy == "fsdp"
        self.module = build_model(shape, device, torch.float32 if wide else torch.bfloat16, run.apart)
        if run.strategy == "fsdp":
            shard(self.module, run, device)
        self.compiled = torch.compile(self.module) if run.compile else self.module
        on_gpu = str(device).startswith("cuda")
        # A learning rate that leaves random weights as they are: only time is looked at.
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=1e-6, fused=True if on_gpu else None)


def shard(module, run, device):
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    import torch.distributed as dist
    reduce = torch.float32 if run.precision == "fp32-reduce" else torch.bfloat16
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=reduce)
    mesh = init_device_mesh(str(device).split(":")[0], (dist.get_world_size(),))
    for block in module.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(module, mesh=mesh, mp_policy=policy)


def wrap(run, trainee, device):
    import torch
    from torch.nn.parallel import DistributedDataParallel
    if run.strategy != "ddp":
        return trainee.compiled
    # The default cap brings the default's small first bucket; a stated one holds for all.
    cap = {} if run.bucket_mb == 25 else {"bucket_cap_mb": run.bucket_mb}
    ids = [torch.device(device).index] if str(device).startswith("cuda") else None
    return DistributedDataParallel(trainee.compiled, device_ids=ids, **cap)


def make_step(run, trainee, model, shape, device):
    """A function that trains one step and returns its last loss."""
    import torch
    generator = torch.Generator(device=device).manual_seed(7)
    data = torch.randint(0, shape.vocab, (4, 2, run.batch, shape.seq), device=device, generator=generator)
    kind = str(device).split(":")[0]

    def step():
        for micro in range(run.accum):
            last = micro + 1 == run.accum
            tokens, targets = data[micro % 4]
            held = model.no_sync() if run.strategy == "ddp" and not last else contextlib.nullcontext()
            if run.strategy == "fsdp" and run.accum > 1:
                model.set_requires_gradient_sync(last)
            with held:
                with torch.autocast(kind, dtype=torch.bfloat16, enabled=run.precision == "amp"):
                    loss = model(tokens, targets)
                loss.backward()
        trainee.optimizer.step()
        trainee.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


# --- timing ----------------------------------------------------------------------------------------

class Gpu:
    """What timing needs of the device; on a CPU the same with the wall clock, to try the script."""

    def __init__(self, device):
        import torch
        self.torch, self.real = torch, str(device).startswith("cuda")

    def wait(self):
        if self.real:
            self.torch.cuda.synchronize()

    def mark(self):
        if not self.real:
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between_s(self, a, b):
        return a.elapsed_time(b) * 1e-3 if self.real else b - a

    def forget(self):
        gc.collect()
        if self.real:
            self.torch.cuda.empty_cache()

    def reset_peak(self):
        if self.real:
            self.torch.cuda.reset_peak_memory_stats()

    def peak_GiB(self):
        if not self.real:
            return 0.0, 0.0
        return self.torch.cuda.max_memory_allocated() / 2**30, self.torch.cuda.max_memory_reserved() / 2**30


def meet():
    import torch.distributed as dist
    if dist.get_world_size() > 1:
        dist.barrier()


def timed_steps(step, gpu):
    """Seconds of each timed step, from mark to mark on the stream as training runs them, and the last loss."""
    for _ in range(WARMUP):
        step()
    gpu.wait()
    meet()
    gc.collect()
    gc.disable()
    marks = [gpu.mark()]
    for _ in range(TIMED):
        loss = step()
        marks.append(gpu.mark())
    gpu.wait()
    gc.enable()
    return [gpu.between_s(a, b) for a, b in zip(marks, marks[1:])], float(loss)


@contextlib.contextmanager
def profile(step, gpu, count, with_host):
    """Trains `count` steps under the profiler; the path of their chrome trace, which is gone afterwards."""
    from torch.profiler import ProfilerActivity, profile as profiler, record_function
    activities = [ProfilerActivity.CUDA] if gpu.real else []
    if with_host or not gpu.real:
        activities.append(ProfilerActivity.CPU)
    gpu.wait()
    meet()
    with profiler(activities=activities, record_shapes=with_host) as prof:
        for i in range(count):
            with record_function(f"ProfilerStep#{i}"):
                step()
        gpu.wait()
    with tempfile.TemporaryDirectory(prefix="train_runs_") as folder:
        path = os.path.join(folder, "trace.json")
        prof.export_chrome_trace(path)
        yield path


def measured_communication(step, gpu):
    """Of every rank: exposed, communication, compute and step in ms (NaN where the profile does not tell)."""
    import torch
    import torch.distributed as dist
    found = {}
    try:  # a profile that cannot be had must not cost the step time
        with profile(step, gpu, PROFILED, False) as path, open(path, encoding="utf-8", errors="replace") as file:
            found = matrix.communication_of(matrix.activities_of(json.load(file)), PROFILED)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        say(f"no profile: {error}")
    mine = [found.get(k, math.nan) for k in ("exposed", "communication", "compute", "step")]
    own = torch.tensor(mine, dtype=torch.float64, device="cuda" if gpu.real else "cpu")
    everyone = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, own)
    return [t.tolist() for t in everyone]


def keep_trace(step, gpu, target, leader):
    """Profiles two steps with the host's side; the leader keeps the trace, gzipped, unless it is too large."""
    if not leader:
        gpu.wait()
        meet()
        for _ in range(TRACED):
            step()
        gpu.wait()
        return ""
    try:
        partial = target + ".part"
        with profile(step, gpu, TRACED, True) as path:
            with open(path, "rb") as plain, gzip.open(partial, "wb", compresslevel=6) as packed:
                shutil.copyfileobj(plain, packed)
    except (OSError, RuntimeError) as error:
        return f"no trace: {error}"
    if os.path.getsize(partial) > TRACE_BYTES:
        os.remove(partial)
        return "trace too large to keep"
    os.replace(partial, target)
    return "trace " + os.path.basename(target)


def notes_of(times, gpu, ranks, slowest_s):
    q = statistics.quantiles(times, n=4)
    allocated, reserved = gpu.peak_GiB()
    notes = [f"q1 {q[0] * 1e3:.3f} q3 {q[2] * 1e3:.3f} min {min(times) * 1e3:.3f} max {max(times) * 1e3:.3f} ms",
             f"slowest rank's median {slowest_s * 1e3:.3f} ms",
             f"peak memory {allocated:.2f} GiB, reserved {reserved:.2f} GiB"]
    if ranks and not any(math.isnan(v) for v in ranks[0]):
        words = ("exposed", "communication", "compute", "profiled step")
        notes.append(", ".join(f"{w} {v:.3f} ms" for w, v in zip(words, ranks[0])))
        if len(ranks) > 1:
            # A collective's kernel waits for the last rank: the shortest of the ranks is the wire's time.
            notes.append(f"all ranks: exposed {min(r[0] for r in ranks):.3f} to {max(r[0] for r in ranks):.3f} ms, "
                         f"communication {min(r[1] for r in ranks):.3f} to {max(r[1] for r in ranks):.3f} ms")
    return notes


def flag_of(times, loss):
    flags = []
    spread = (max(times) - min(times)) / statistics.median(times)
    if spread > 0.2:
        flags.append(f"spread {100 * spread:.0f} %")
    if not math.isfinite(loss):
        flags.append("loss not finite")
    return "; ".join(flags)


def measure(run, shape, trainee, device, args, leader):
    """What row() wants to know of a run; every rank calls it."""
    import torch
    import torch.distributed as dist
    gpu = Gpu(device)
    gpu.reset_peak()
    model = wrap(run, trainee, device)
    step = make_step(run, trainee, model, shape, device)
    times, loss = timed_steps(step, gpu)
    slowest = torch.tensor([statistics.median(times)], dtype=torch.float64, device=device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    # Peak memory is the timed steps', not the profiler's.
    ranks = None
    notes = notes_of(times, gpu, ranks, slowest.item())
    if not args.no_profile:
        ranks = measured_communication(step, gpu)
        notes = notes[:3] + notes_of(times, gpu, ranks, slowest.item())[3:]
    if run.trace and args.traces:
        kept = keep_trace(step, gpu, os.path.join(args.traces, run.id + ".json.gz"), leader)
        if kept:
            notes.append(kept)
    del step, model
    gpu.wait()
    return {"step_s": statistics.median(times), "notes": "; ".join(notes), "flag": flag_of(times, loss)}


# --- processes -------------------------------------------------------------------------------------

def append_line(path, line):
    """One whole line at the end of the file, on the disk before this returns."""
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if file.tell() == 0:
            file.write(matrix.HEADER)
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def pick(runs, states, shapes, deadline, lock):
    """The next run that is to be done and still fits into the time; -1 when none is."""
    with lock:
        for i, run in enumerate(runs):
            if states[i] != TODO:
                continue
            if time.time() + matrix.estimated_seconds(run, shapes[run.model]) > deadline:
                states[i] = LEFT_OUT
                continue
            states[i] = TAKEN
            return i
    return -1


def agree(index, device):
    """What the first rank picked."""
    import torch
    import torch.distributed as dist
    value = torch.tensor([index], dtype=torch.int64, device=device)
    if dist.get_world_size() > 1:
        dist.broadcast(value, 0)
    return int(value.item())


def worker(rank, world, gpu_index, port, runs, states, lock, began, current, deadline, args, facts):
    """One rank of a group that takes runs until none is left."""
    import torch
    import torch.distributed as dist
    shapes = shapes_of(args)
    if args.tiny:
        device, backend = torch.device("cpu"), "gloo"
        torch.set_num_threads(1)
    else:
        device, backend = torch.device("cuda", gpu_index), "nccl"
        torch.cuda.set_device(device)
        torch.set_num_threads(4)
    dist.init_process_group(backend, init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=240))
    agree(0, device)  # communicators and contexts exist before anything is timed
    trainee = None
    while True:
        index = agree(pick(runs, states, shapes, deadline, lock) if rank == 0 else 0, device)
        if index < 0:
            break
        run = runs[index]
        if rank == 0:
            current.value, began.value = index, time.time()
        if trainee is None or trainee.key != run.key:
            trainee = None
            Gpu(device).forget()
            trainee = Trainee(run, shapes[run.model], device)
        result = measure(run, shapes[run.model], trainee, device, args, rank == 0)
        Gpu(device).forget()  # the wrapper's hooks are gone before the module is wrapped again
        if rank == 0:
            append_line(args.output, matrix.row_line(matrix.row(run, shapes[run.model], facts, result)))
            states[index] = DONE
            say(f"{run.id} {describe(run)}: {result['step_s'] * 1e3:.2f} ms ({time.time() - began.value:.1f} s)")
    dist.destroy_process_group()


def guarded_worker(*arguments):
    try:
        worker(*arguments)
    except Exception:  # the parent starts the group again without the run
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # not waiting for peers that are inside a collective


def describe(run):
    words = [run.model, f"{run.gpus} GPU", f"batch {run.batch}", run.strategy, run.precision]
    if run.accum > 1:
        words.append(f"accum {run.accum}")
    if run.strategy == "ddp":
        words.append(f"bucket {run.bucket_mb}")
    if run.compile:
        words.append("compile")
    return " ".join(words)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class GroupOfRanks:
    """The processes of one group; started again when one of them dies or a run hangs."""

    def __init__(self, context, first_gpu, world, common):
        self.context, self.first_gpu, self.world, self.common = context, first_gpu, world, common
        self.began, self.current = context.Value("d", 0), context.Value("i", -1)
        self.start()

    def start(self):
        runs, states, lock, deadline, args, facts = self.common
        self.began.value, self.current.value = time.time(), -1
        port = free_port()
        self.processes = [self.context.Process(
            target=guarded_worker,
            args=(r, self.world, self.first_gpu + r, port, runs, states, lock, self.began, self.current, deadline,
                  args, facts))
            for r in range(self.world)]
        for p in self.processes:
            p.start()

    def end(self):
        for p in self.processes:
            if p.is_alive():
                p.kill()
        for p in self.processes:
            p.join()

    def finished(self):
        return all(p.exitcode == 0 for p in self.processes)

    def failed(self):
        return any(p.exitcode not in (None, 0) for p in self.processes)

    def hangs(self, limit_s):
        return time.time() - self.began.value > limit_s


def run_groups(context, groups, world, runs, deadline, args, facts):
    """All runs of one number of GPUs, on as many groups of ranks as the machine holds."""
    states = context.Array("i", [TODO] * len(runs), lock=False)
    done_before = matrix.ids_in(args.output)
    for i, run in enumerate(runs):
        if run.id in done_before:
            states[i] = DONE
    if all(s == DONE for s in states):
        return states
    common = (runs, states, context.Lock(), deadline, args, facts)
    alive = [GroupOfRanks(context, g * world, world, common) for g in range(groups)]
    restarts = 0
    try:
        while alive:
            time.sleep(0.05)
            for group in list(alive):
                if group.finished():
                    group.end()
                    alive.remove(group)
                    continue
                late = time.time() > deadline + 20
                if not (group.failed() or group.hangs(args.run_limit) or late):
                    continue
                why = "failed" if group.failed() else "took too long"
                group.end()
                i = group.current.value
                if i >= 0 and states[i] == TAKEN:
                    states[i] = FAILED
                    say(f"{runs[i].id} {describe(runs[i])}: {why}")
                restarts += 1
                if late or restarts > 6 or TODO not in list(states):
                    alive.remove(group)
                else:
                    common[2].acquire(timeout=1)  # a killed leader may have held it
                    with contextlib.suppress(ValueError):
                        common[2].release()
                    group.start()
    finally:
        for group in alive:
            group.end()
    for i, s in enumerate(states):
        if s == TAKEN:
            states[i] = FAILED
    return states


def nvidia_smi(*arguments):
    try:
        out = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, timeout=20)
        return out.stdout if out.returncode == 0 else ""
    except (OSError, subprocess.TimeoutExpired):
        return ""


def link_between_gpus():
    """What `nvidia-smi topo -m` writes between the first two GPUs: NV18, PIX, SYS; "" when it does not say."""
    for line in nvidia_smi("topo", "-m").splitlines():
        cells = line.split()
        if cells and cells[0].endswith("GPU0") and len(cells) > 2 and cells[1] == "X":
            return cells[2]
    return ""


def facts_of(args, torch=None):
    link = link_between_gpus() if torch else ""
    intra = args.intra or ("nvswitch" if not link or link.startswith("NV") else "pcie")
    how = f"CUDA events from step to step, {TIMED} steps after {WARMUP} warm-up, fused AdamW, random tokens"
    if torch and not args.tiny:
        nccl = ".".join(str(v) for v in torch.cuda.nccl.version())
        how += (f", PyTorch {torch.__version__}, CUDA {torch.version.cuda}, NCCL {nccl}, "
                f"NVLS {'off' if os.environ.get('NCCL_NVLS_ENABLE') == '0' else 'default'}")
    return {"source": f"measured for this project, {datetime.date.today().isoformat()}", "gpu": args.gpu_text,
            "std_gpu": args.gpu, "link": f"{link} (nvidia-smi topo -m)" if link else intra, "std_intra": intra, "how": how}


def shapes_of(args):
    return matrix.TINY if args.tiny else matrix.MODELS


def chosen_runs(args, gpus):
    runs = matrix.matrix(gpus, args.trial, args.apart)
    if args.only:
        wanted = args.only.split(",")
        runs = [r for r in runs if r.id in wanted]
        if not runs:
            raise SystemExit(f"train_runs: --only: none of {args.only} is a run on {gpus} GPUs; see --list")
    if args.tiny:  # what needs a GPU's kernels or a newer library than the machine may have
        runs = [r for r in runs if r.strategy != "fsdp" and not r.compile]
    return runs


def list_runs(args):
    facts = facts_of(args)
    lines = [matrix.HEADER]
    for run in chosen_runs(args, args.gpus or 2):
        fields = matrix.row(run, shapes_of(args)[run.model], facts)
        if args.placeholder_s:
            fields["step_time_s"] = f"{args.placeholder_s:g}"
        lines.append(matrix.row_line(fields))
    if args.output == "-":
        sys.stdout.write("".join(lines))
        return 0
    with open(args.output, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return 0


def train(args):
    try:
        import torch
        import torch.multiprocessing as mp
    except ImportError:
        say("PyTorch is not installed; --list needs none")
        return 2
    visible = args.gpus or 2 if args.tiny else torch.cuda.device_count()
    gpus = args.gpus or visible
    if gpus < 1 or gpus > visible:
        say(f"{gpus} GPUs are wanted and {visible} are visible")
        return 2
    if args.trial:
        gpus = args.gpus or 1
    if args.traces:
        os.makedirs(args.traces, exist_ok=True)
    facts = facts_of(args, torch)
    runs = chosen_runs(args, gpus)
    context = mp.get_context("spawn")
    worlds = [w for w in matrix.world_sizes(gpus) if any(r.gpus == w for r in runs)]
    # Most of the time belongs to the largest group; what a group leaves is the next one's.
    shares = [3 if w == worlds[0] else 2 for w in worlds]
    start = time.time()
    failed = 0
    for i, world in enumerate(worlds):
        mine = [r for r in runs if r.gpus == world]
        deadline = start + args.budget_seconds * sum(shares[:i + 1]) / sum(shares)
        states = run_groups(context, gpus // world, world, mine, deadline, args, facts)
        count = [sum(1 for s in states if s == kind) for kind in range(5)]
        failed += count[FAILED]
        say(f"{world} GPU: {count[DONE]} of {len(mine)} runs measured, {count[LEFT_OUT] + count[TODO]} left out, "
            f"{count[FAILED]} failed, {time.time() - start:.0f} s")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="-", help="runs table to append to (--list: to write)")
    parser.add_argument("--budget-seconds", type=float, help="no run is begun that would end later (360; --trial 60)")
    parser.add_argument("--gpus", type=int, default=0, help="GPUs to use (default all; --list 2; --trial 1)")
    parser.add_argument("--traces", default="", help="folder for the profiler traces of a few runs")
    parser.add_argument("--trial", action="store_true", help="every kind of run once, small")
    parser.add_argument("--apart", action="store_true",
                        help="the runs of Llama as most people have it: RoPE, projections apart")
    parser.add_argument("--only", default="", help="ids of runs, comma-separated")
    parser.add_argument("--list", action="store_true", help="write the table of runs without times; needs no PyTorch")
    parser.add_argument("--placeholder-s", type=float, default=0, help="--list: step time to write into every row")
    parser.add_argument("--gpu", default="h200-sxm", help="profile's name of the card")
    parser.add_argument("--gpu-text", default="H200-SXM", help="the card in words")
    parser.add_argument("--intra", default="", help="std_intra of the rows (default: from nvidia-smi topo -m)")
    parser.add_argument("--no-profile", action="store_true", help="do not measure exposed communication")
    parser.add_argument("--run-limit", type=float, default=150, help="seconds after which a run is given up")
    parser.add_argument("--tiny", action="store_true", help="small models on the CPU: tries the script, measures nothing")
    args = parser.parse_args()
    if args.budget_seconds is None:
        args.budget_seconds = 60 if args.trial else 360
    if args.list:
        return list_runs(args)
    if args.output == "-":
        parser.error("-o FILE is needed")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return train(args)


if __name__ == "__main__":
    sys.exit(main())
