#!/usr/bin/env python3
"""Measure the operators that PyTorch launches in a training step, on the GPU alone and on the host.

GPU points: each operator is captured in a CUDA graph that runs it over several sets of inputs, and
the graph is replayed; so the host's issue time is not in the figure. The backward of attention is
captured apart from the forward that saved its inputs. `resident` points run on one
set of inputs again and again (what a consumer right behind its producer sees), the others rotate
through enough sets to exceed the L2 cache several times.
Host points: wall time that Python and the framework need to issue the forward pass, the backward
pass and the optimizer of a small transformer whose kernels are too short to hold the host up.

The result is a measurement file (calibrate/MEASUREMENT.md) that `stepsight fit` reads.
Example: python3 calibrate/framework_operators.py -o h200-framework.json --quick
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("framework_operators: PyTorch is not installed; the profile keeps class values", file=sys.stderr)
    sys.exit(2)

L2_BYTES = 0
STREAM = None
# Pause after work at the card's highest power, in times of its length: an H200 lowers its clock when
# products or attention follow each other without.
REST = 1.5
POINTS = []
ARGS = None
STARTED = time.time()


def quartiles(samples):
    ordered = sorted(samples)
    q = statistics.quantiles(ordered, n=4) if len(ordered) > 3 else [ordered[0], statistics.median(ordered), ordered[-1]]
    return q[0], statistics.median(ordered), q[2]


def out_of_time():
    return time.time() - STARTED > ARGS.budget


def add_point(op, samples_us, **shape):
    q1, median, q3 = quartiles(samples_us)
    POINTS.append({"op": op, **shape, "median_us": round(median, 4), "q1_us": round(q1, 4),
                   "q3_us": round(q3, 4), "samples": len(samples_us)})


def replay_times(make, run, bytes_of_set, resident, prepare=None, rest=0.0):
    """Times in us of one run(make()) inside a captured graph; [] when it does not fit in memory.

    prepare(make()), where given, is captured in a graph of its own and replayed once, and run works on
    what it returns: for the backward of a forward that is not to be in the figure. rest: pause after
    each replay, in times of its length, for what draws more power than the card may for long."""
    global STREAM
    free, _ = torch.cuda.mem_get_info()
    sets = 1 if resident else max(1, min(64, int(4 * L2_BYTES / max(bytes_of_set, 1)) + 1))
    if bytes_of_set * sets * 1.5 > free:
        return []
    # One stream for everything: autograd runs a backward on the stream of its forward, and a capture
    # admits no other.
    STREAM = STREAM or torch.cuda.Stream()
    STREAM.wait_stream(torch.cuda.current_stream())
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(STREAM):
        inputs = [make() for _ in range(sets)]
        warm = prepare(inputs[0]) if prepare else inputs[0]
        for _ in range(2):
            run(warm)
        torch.cuda.synchronize()
        begin.record(); run(warm); end.record(); torch.cuda.synchronize()
        del warm
        once_us = max(begin.elapsed_time(end) * 1e3, 2.0)
        runs = max(sets, min(64, int(400 / once_us)), 3)
        first, graph, pool = None, torch.cuda.CUDAGraph(), None
        if prepare:
            first = torch.cuda.CUDAGraph()
            with torch.cuda.graph(first, stream=STREAM):
                inputs = [prepare(t) for t in inputs]
            first.replay()
            pool = first.pool()
        with torch.cuda.graph(graph, pool=pool, stream=STREAM):
            for i in range(runs):
                run(inputs[i % sets])
        graph.replay()
        torch.cuda.synchronize()
        samples = []
        deadline = time.time() + ARGS.seconds_a_point
        while len(samples) < 5 or (len(samples) < 25 and time.time() < deadline):
            begin.record(); graph.replay(); end.record(); torch.cuda.synchronize()
            samples.append(begin.elapsed_time(end) * 1e3 / runs)
            time.sleep(rest * begin.elapsed_time(end) * 1e-3)
        del graph, first, inputs
    return samples


def measure(op, make, run, read, written, resident=(False, True), footprint=None, prepare=None, **shape):
    """One operator point per residency. read and written are bytes of global memory of one run;
    footprint: bytes of one set of inputs and outputs, where that is more than what is touched; prepare as in
    replay_times."""
    if out_of_time():
        return
    for hot in resident:
        if hot and read + written > 8 * L2_BYTES:
            continue  # cannot be resident; the rotated point says the same
        try:
            samples = replay_times(make, run, footprint or read + written, hot, prepare)
        except Exception as error:  # one operator that this version lacks must not cost the others
            torch.cuda.synchronize()
            print(f"framework_operators: {op} {shape}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        if samples:
            add_point(op, samples, bytes_read=read, bytes_written=written, resident=hot, **shape)
    torch.cuda.empty_cache()


def randn(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def width(dtype):
    return torch.empty(0, dtype=dtype).element_size()


def elementwise_points(elements):
    bf16, fp32 = torch.bfloat16, torch.float32
    for n in elements:
        shape = {"rows": n // 1024, "cols": 1024}
        for dtype in (bf16, fp32):
            w = width(dtype)
            name = str(dtype).removeprefix("torch.")
            x = lambda d=dtype: randn(n, dtype=d)
            measure("fill", lambda: (x(),), lambda t: t[0].fill_(1.0), 0, n * w, dtype=name, **shape)
            measure("copy", lambda: (x(), x()), lambda t: torch.mul(t[0], 0.5, out=t[1]), n * w, n * w, dtype=name, **shape)
            measure("add", lambda: (x(), x(), x()), lambda t: torch.add(t[0], t[1], out=t[2]), 2 * n * w, n * w, dtype=name, **shape)
        measure("gelu", lambda: (randn(n),), lambda t: F.gelu(t[0]), 2 * n, 2 * n, dtype="bfloat16", **shape)
        measure("gelu_backward", lambda: (randn(n), randn(n)), lambda t: torch.ops.aten.gelu_backward(t[0], t[1]), 4 * n, 2 * n, dtype="bfloat16", **shape)
        measure("cast_down", lambda: (randn(n, dtype=fp32),), lambda t: t[0].to(bf16), 4 * n, 2 * n, dtype="bfloat16", **shape)
        measure("cast_up", lambda: (randn(n),), lambda t: t[0].to(fp32), 2 * n, 4 * n, dtype="float32", **shape)
        measure("add_mixed", lambda: (randn(n), randn(n, dtype=fp32)), lambda t: t[0] + t[1], 6 * n, 4 * n, dtype="float32", **shape)
        measure("dropout", lambda: (randn(n),), lambda t: torch.native_dropout(t[0], 0.1, True), 2 * n, 3 * n, dtype="bfloat16", **shape)


def strided_points(shapes):
    for rows, cols in shapes:
        n = rows * cols
        shape = {"rows": rows, "cols": cols, "dtype": "bfloat16"}
        wide = lambda: randn(rows, 2 * cols)
        measure("silu_strided", lambda: (wide(),), lambda t: F.silu(t[0][:, :cols]), 2 * n, 2 * n, **shape)
        measure("mul_strided", lambda: (randn(rows, cols), wide()), lambda t: t[0] * t[1][:, cols:], 4 * n, 2 * n, **shape)
        measure("silu_backward_strided", lambda: (randn(rows, cols), wide()),
                lambda t: torch.ops.aten.silu_backward(t[0], t[1][:, :cols]), 4 * n, 2 * n, **shape)
        measure("silu", lambda: (randn(rows, cols),), lambda t: F.silu(t[0]), 2 * n, 2 * n, **shape)
        measure("silu_backward", lambda: (randn(rows, cols), randn(rows, cols)),
                lambda t: torch.ops.aten.silu_backward(t[0], t[1]), 4 * n, 2 * n, **shape)
        measure("concat", lambda: (randn(rows, cols), randn(rows, cols)), lambda t: torch.cat(t, dim=1), 4 * n, 4 * n, **shape)
        measure("add_broadcast", lambda: (randn(rows // 8, 8, cols), randn(8, cols)), lambda t: t[0] + t[1], 2 * n, 2 * n, **shape)
        measure("transpose", lambda: (randn(8, rows // 8, 16, cols // 16),), lambda t: t[0].transpose(1, 2).contiguous(), 2 * n, 2 * n, **shape)


def norm_points(shapes):
    for rows, cols in shapes:
        n = rows * cols
        for dtype in (torch.bfloat16, torch.float32):
            w, name = width(dtype), str(dtype).removeprefix("torch.")
            shape = {"rows": rows, "cols": cols, "dtype": name}
            weight, bias = randn(cols, dtype=dtype), randn(cols, dtype=dtype)
            x = lambda d=dtype: randn(rows, cols, dtype=d)
            stats = lambda: torch.rand(rows, 1, device="cuda")
            measure("layer_norm", lambda: (x(),), lambda t: torch.native_layer_norm(t[0], [cols], weight, bias, 1e-5), n * w, n * w, **shape)
            measure("layer_norm_backward", lambda: (x(), x(), stats(), stats()),
                    lambda t: torch.ops.aten.native_layer_norm_backward(t[0], t[1], [cols], t[2], t[3], weight, bias, [True, True, True]),
                    4 * n * w, n * w, **shape)
            if hasattr(torch.ops.aten, "_fused_rms_norm"):
                measure("rms_norm", lambda: (x(),), lambda t: torch.ops.aten._fused_rms_norm(t[0], [cols], weight, 1e-5), n * w, n * w, **shape)
                measure("rms_norm_backward", lambda: (x(), x(), stats()),
                        lambda t: torch.ops.aten._fused_rms_norm_backward(t[0], t[1], [cols], t[2], weight, [True, True]),
                        4 * n * w, n * w, **shape)
        measure("bias_gradient", lambda: (randn(rows, cols),), lambda t: t[0].sum(0), 2 * n, 2 * cols, rows=rows, cols=cols, dtype="bfloat16")


def loss_points(shapes):
    for rows, cols in shapes:
        n = rows * cols
        shape = {"rows": rows, "cols": cols, "dtype": "float32"}
        x = lambda: randn(rows, cols, dtype=torch.float32)
        measure("log_softmax", lambda: (x(),), lambda t: torch.log_softmax(t[0], 1), 4 * n, 4 * n, resident=(False,), **shape)
        measure("log_softmax_backward", lambda: (x(), x()),
                lambda t: torch.ops.aten._log_softmax_backward_data(t[0], t[1], 1, torch.float32), 8 * n, 4 * n, resident=(False,), **shape)
        target = torch.randint(0, cols, (rows,), device="cuda")
        measure("nll_loss", lambda: (x(),), lambda t: F.nll_loss(t[0], target), 4 * rows, 4, resident=(False,), footprint=4 * n, **shape)


def softmax_points(shapes):
    for rows, cols in shapes:
        n = rows * cols
        shape = {"rows": rows, "cols": cols, "dtype": "bfloat16"}
        measure("softmax", lambda: (randn(rows, cols),), lambda t: torch.softmax(t[0], 1), 2 * n, 2 * n, **shape)
        measure("softmax_backward", lambda: (randn(rows, cols), randn(rows, cols)),
                lambda t: torch.ops.aten._softmax_backward_data(t[0], t[1], 1, torch.bfloat16), 4 * n, 2 * n, **shape)


def score_points(shapes):
    """What relative attention (Dai et al. 2019, appendix B) does to its scores [batch, head, query, key]: a column
    of zeros before the scores by distance, read at another stride; sum, scale and mask; and the gradients' way back."""
    @torch.jit.script
    def scaled(content, distance, scale: float):
        return scale * (content + distance)

    for batch, heads, queries, keys in shapes:
        n = batch * heads * queries * keys
        for dtype in (torch.bfloat16, torch.float32):
            w = width(dtype)
            shape = {"rows": batch * heads * queries, "cols": keys, "dtype": str(dtype).removeprefix("torch."), "resident": (False,)}
            scores = lambda: randn(batch, heads, queries, keys, dtype=dtype)
            # The products by distance are made head by head, all sequences together.
            by_head = lambda: randn(heads, queries, batch, keys, dtype=dtype).permute(2, 0, 1, 3)
            padded = lambda: randn(batch, heads, keys + 1, queries, dtype=dtype)
            shifted = lambda t: t.narrow(2, 1, keys).view(batch, heads, queries, keys)
            zeros = torch.zeros(batch, heads, queries, 1, device="cuda", dtype=dtype)
            hidden = torch.ones(queries, keys, device="cuda", dtype=torch.bool).triu(1 + keys - queries)
            leaf = lambda t: t.detach().requires_grad_()
            def sum_of(t):
                content, distance = leaf(t[0]), leaf(shifted(t[1]))
                return scaled(content, distance, 0.125), content, distance, t[0]
            measure("concat_column", lambda: (by_head(),), lambda t: torch.cat((zeros, t[0]), dim=3), n * w, n * w, **shape)
            measure("scaled_sum", lambda: (scores(), padded()), lambda t: scaled(t[0], shifted(t[1]), 0.125), 2 * n * w, n * w, **shape)
            measure("scaled_twice", lambda: (scores(), padded()), lambda t: torch.autograd.grad(t[0], (t[1], t[2]), t[3], retain_graph=True),
                    n * w, 2 * n * w, prepare=sum_of, **shape)
            measure("masked_fill", lambda: (scores(),), lambda t: t[0].masked_fill_(hidden, float("-inf")), n * w, n * w, **shape)
            measure("copy_region", lambda: (padded(), scores()), lambda t: t[0].narrow(2, 1, keys).copy_(t[1].view(batch, heads, keys, queries)),
                    n * w, n * w, **shape)
            measure("copy_apart", lambda: (randn(batch, heads, queries, keys + 1, dtype=dtype),),
                    lambda t: t[0].narrow(3, 1, keys).permute(1, 2, 0, 3).contiguous(), n * w, n * w, **shape)
    for rows, tokens, cols in INDEXED:
        index = torch.randperm(tokens, device="cuda")[:rows]
        for dtype in (torch.bfloat16, torch.float32):
            w = width(dtype)
            measure("index_add", lambda: (randn(tokens, cols, dtype=dtype), randn(rows, cols, dtype=dtype)),
                    lambda t: t[0].index_add_(0, index, t[1]), 2 * rows * cols * w, rows * cols * w, rows=rows, cols=cols,
                    dtype=str(dtype).removeprefix("torch."), resident=(False,))


def embedding_points(shapes):
    for tokens, vocab, cols in shapes:
        table = randn(vocab, cols)
        index = torch.randint(0, vocab, (tokens,), device="cuda")
        n = tokens * cols
        shape = {"rows": tokens, "cols": cols, "vocab": vocab, "dtype": "bfloat16"}
        measure("embedding", lambda: (index,), lambda t: F.embedding(t[0], table), 2 * n, 2 * n, resident=(False,), **shape)
        gradient = randn(tokens, cols)
        run = lambda: torch.ops.aten.embedding_dense_backward(gradient, index, vocab, -1, False)
        samples = kernel_time(run)
        if samples:
            add_point("embedding_backward", samples, bytes_read=2 * n, bytes_written=2 * vocab * cols, resident=False, **shape)


def kernel_time(run, repeats=5):
    """Sum of GPU kernel durations in us: for operators that a graph cannot capture."""
    from torch.profiler import ProfilerActivity, profile
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    samples = []
    for _ in range(repeats):
        with profile(activities=[ProfilerActivity.CUDA]) as prof:
            run()
            torch.cuda.synchronize()
        samples.append(sum(e.device_time for e in prof.events() if e.device_time > 0))
    return samples


def optimizer_points(sizes):
    for count, each in sizes:
        for dtype in (torch.bfloat16, torch.float32):
            n, w = count * each, width(dtype)
            if n * w * 4 > 0.8 * torch.cuda.mem_get_info()[0] or out_of_time():
                continue
            lists = [[randn(each, dtype=dtype) for _ in range(count)] for _ in range(4)]
            for state in lists[3]:
                state.abs_()
            steps = [torch.ones((), device="cuda") for _ in range(count)]
            run = lambda _: torch._fused_adamw_(lists[0], lists[1], lists[2], lists[3], [], steps, lr=1e-4, beta1=0.9, beta2=0.95,
                                                weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False)
            where = {"resident": (True,) if n * w * 7 < L2_BYTES else (False,), "rows": count, "cols": each,
                     "dtype": str(dtype).removeprefix("torch.")}
            measure("adamw", lambda: (), run, 4 * n * w, 3 * n * w, **where)
            measure("sgd", lambda: (), lambda _: torch._foreach_add_(lists[0], lists[1], alpha=-1e-4), 2 * n * w, n * w, **where)
            del lists


def attention_points(shapes):
    for batch, heads, kv_heads, seq, head_dim, causal, dropout in shapes:
        if out_of_time():
            return
        q = lambda: torch.randn(batch, seq, heads, head_dim, device="cuda", dtype=torch.bfloat16).transpose(1, 2).requires_grad_()
        kv = lambda: torch.randn(batch, seq, kv_heads, head_dim, device="cuda", dtype=torch.bfloat16).transpose(1, 2).requires_grad_()
        call = lambda t: F.scaled_dot_product_attention(t[0], t[1], t[2], is_causal=causal, enable_gqa=kv_heads != heads,
                                                        dropout_p=0.1 if dropout else 0.0)
        gradients = lambda t: torch.autograd.grad(t[0], t[1], t[2], retain_graph=True)
        make = lambda: (q(), kv(), kv(), torch.randn(batch, seq, heads, head_dim, device="cuda", dtype=torch.bfloat16).transpose(1, 2))
        saved = lambda t: (call(t), t[:3], t[3])
        size = 2 * batch * seq * head_dim * (3 * heads + 2 * kv_heads)
        shape = {"batch": batch, "heads": heads, "kv_heads": kv_heads, "seq": seq, "head_dim": head_dim, "causal": causal, "dropout": dropout, "dtype": "bfloat16"}
        try:
            forward = replay_times(make, call, size, False, rest=REST)
            if forward:
                add_point("attention", forward, **shape)
            try:
                backward = replay_times(make, gradients, 2 * size, False, prepare=saved, rest=REST)
            except RuntimeError:  # no capture of this kernel: the profiler's durations, without gaps
                torch.cuda.synchronize()
                t = saved(make())
                backward = kernel_time(lambda: gradients(t))
            if backward:
                add_point("attention_backward", backward, **shape)
        except Exception as error:  # one operator that this version lacks must not cost the others
            torch.cuda.synchronize()
            print(f"framework_operators: attention {shape}: {str(error).splitlines()[0]}", file=sys.stderr)
        torch.cuda.empty_cache()


def compiled_points(shapes, losses):
    """The memory-bound kernels that torch.compile makes of a block and of the loss."""
    def norm(x, branch, weight, bias):
        total = x + branch
        return total, F.layer_norm(total, total.shape[-1:], weight, bias)

    def norm_backward(dy, x, mean, rstd, weight, dres):
        xhat, wdy = (x.float() - mean) * rstd, dy.float() * weight.float()
        c1, c2 = (xhat * wdy).mean(-1, keepdim=True), wdy.mean(-1, keepdim=True)
        dx = ((wdy - c1 * xhat - c2) * rstd + dres.float()).to(dy.dtype)
        return dx, (dy.float() * xhat).sum(0).to(dy.dtype), dy.float().sum(0).to(dy.dtype)

    def swiglu(x):
        gate, up = x.chunk(2, dim=1)
        return F.silu(gate) * up

    def swiglu_backward(dy, x):
        gate, up = (t.float() for t in x.chunk(2, dim=1))
        s = torch.sigmoid(gate)
        d = dy.float()
        return torch.cat([(d * up * s * (1 + gate * (1 - s))).to(dy.dtype), (d * gate * s).to(dy.dtype)], dim=1)

    def loss(logits):
        return torch.logsumexp(logits.float(), 1)

    def loss_backward(logits, lse, target):
        p = torch.exp(logits.float() - lse)
        hit = torch.arange(logits.shape[1], device="cuda")[None, :] == target
        return ((p - hit.float()) / logits.shape[0]).to(logits.dtype)

    compiled = {f.__name__: torch.compile(f, dynamic=False) for f in (norm, norm_backward, swiglu, swiglu_backward, loss, loss_backward)}
    gelu, gelu_backward = torch.compile(F.gelu, dynamic=False), torch.compile(lambda d, x: torch.ops.aten.gelu_backward(d, x), dynamic=False)
    stat = lambda rows: torch.rand(rows, 1, device="cuda")
    for rows, cols, ffn in shapes:
        n, m = rows * cols, rows * ffn
        shape = {"rows": rows, "cols": cols, "dtype": "bfloat16", "resident": (False,)}
        wide = {"rows": rows, "cols": ffn, "dtype": "bfloat16", "resident": (False,)}
        weight = randn(cols)
        measure("fused_norm", lambda: (randn(rows, cols), randn(rows, cols)), lambda t: compiled["norm"](t[0], t[1], weight, weight), 4 * n, 4 * n, **shape)
        measure("fused_norm_backward", lambda: (randn(rows, cols), randn(rows, cols), stat(rows), stat(rows), randn(rows, cols)),
                lambda t: compiled["norm_backward"](t[0], t[1], t[2], t[3], weight, t[4]), 10 * n, 2 * n, **shape)
        measure("fused_gelu", lambda: (randn(rows, ffn),), lambda t: gelu(t[0]), 2 * m, 2 * m, **wide)
        measure("fused_gelu_backward", lambda: (randn(rows, ffn), randn(rows, ffn)), lambda t: gelu_backward(t[0], t[1]), 4 * m, 2 * m, **wide)
        measure("fused_swiglu", lambda: (randn(rows, 2 * ffn),), lambda t: compiled["swiglu"](t[0]), 4 * m, 2 * m, **wide)
        measure("fused_swiglu_backward", lambda: (randn(rows, ffn), randn(rows, 2 * ffn)), lambda t: compiled["swiglu_backward"](t[0], t[1]), 6 * m, 4 * m, **wide)
    for rows, cols in losses:
        n = rows * cols
        shape = {"rows": rows, "cols": cols, "dtype": "bfloat16", "resident": (False,)}
        target = torch.randint(0, cols, (rows, 1), device="cuda")
        measure("fused_loss", lambda: (randn(rows, cols),), lambda t: compiled["loss"](t[0]), 4 * n, 0, **shape)
        measure("fused_loss_backward", lambda: (randn(rows, cols), stat(rows) + 10), lambda t: compiled["loss_backward"](t[0], t[1], target), 2 * n, 2 * n, **shape)


def convolution_points(shapes):
    for batch, channels, size, out, kernel, stride in shapes:
        if out_of_time():
            return
        pad = kernel // 2
        x = torch.randn(batch, channels, size, size, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        w = torch.randn(out, channels, kernel, kernel, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        y = F.conv2d(x, w, stride=stride, padding=pad)
        g = torch.randn_like(y)
        shape = {"batch": batch, "channels": channels, "size": size, "out": out, "kernel": kernel, "stride": stride, "dtype": "bfloat16"}
        backward = lambda mask: torch.ops.aten.convolution_backward(g, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, mask)
        for op, run in (("conv", lambda _: F.conv2d(x, w, stride=stride, padding=pad)),
                        ("conv_dgrad", lambda _: backward([True, False, False])), ("conv_wgrad", lambda _: backward([False, True, False]))):
            samples = replay_times(lambda: (), run, 0, True, rest=REST)
            if samples:
                add_point(op, samples, **shape)


def image_pass_points(shapes):
    """Batch norm (fp32 weights and statistics, as autocast leaves them) and a residual net's max pool."""
    for batch, channels, size in shapes:
        images = lambda edge=size: randn(batch, channels, edge, edge).to(memory_format=torch.channels_last)
        rows, per_channel = batch * size * size, lambda: torch.rand(channels, device="cuda")
        n, shape = rows * channels, {"rows": rows, "cols": channels, "dtype": "bfloat16"}
        weight, bias, mean, variance = (per_channel() for _ in range(4))
        measure("batch_norm", lambda: (images(),), lambda t: torch.native_batch_norm(t[0], weight, bias, mean, variance, True, 0.1, 1e-5),
                4 * n, 2 * n, resident=(False,), **shape)
        measure("batch_norm_backward", lambda: (images(), images(), per_channel(), per_channel()),
                lambda t: torch.ops.aten.native_batch_norm_backward(t[0], t[1], weight, mean, variance, t[2], t[3], True, 1e-5, [True, True, True]),
                8 * n, 2 * n, resident=(False,), **shape)
        if channels != 64:
            continue
        pool = torch.ops.aten.max_pool2d_with_indices
        wide = lambda: images(2 * size)
        backward = lambda t: torch.ops.aten.max_pool2d_with_indices_backward(t[0], t[1], [3, 3], [2, 2], [1, 1], [1, 1], False, t[2])
        def saved():
            x = wide()
            return images(), x, pool(x, [3, 3], [2, 2], [1, 1])[1]
        measure("max_pool", lambda: (wide(),), lambda t: pool(t[0], [3, 3], [2, 2], [1, 1]), 8 * n, 10 * n, resident=(False,), **shape)
        measure("max_pool_backward", saved, backward, 10 * n, 8 * n, resident=(False,), **shape)


def matmul_points(shapes):
    for m, n, k in shapes:
        for layout in ("TN", "NN", "NT"):
            if out_of_time():
                return
            # TN: y = x w^T (forward); NN: dx = dy w (input gradient); NT: dw = dy^T x (weight gradient)
            if layout == "TN":
                make, run = lambda: (randn(m, k), randn(n, k)), lambda t: F.linear(t[0], t[1])
            elif layout == "NN":
                make, run = lambda: (randn(m, k), randn(k, n)), lambda t: torch.mm(t[0], t[1])
            else:
                make, run = lambda: (randn(k, m), randn(k, n)), lambda t: torch.mm(t[0].t(), t[1])
            samples = replay_times(make, run, 2 * (m * k + n * k + m * n), False, rest=REST)
            if samples:
                add_point("gemm", samples, m=m, n=n, k=k, layout=layout, dtype="bf16")
            torch.cuda.empty_cache()


class Block(torch.nn.Module):
    """A transformer block as training code writes it; the sizes are chosen so that only the host counts."""

    def __init__(self, family, hidden, heads):
        super().__init__()
        self.family, self.heads = family, heads
        linear = torch.nn.Linear
        bias = family == "gpt"
        norm = (lambda: torch.nn.LayerNorm(hidden)) if bias else (lambda: torch.nn.RMSNorm(hidden))
        self.norm1, self.norm2 = norm(), norm()
        self.qkv, self.proj = linear(hidden, 3 * hidden, bias=bias), linear(hidden, hidden, bias=bias)
        self.up = linear(hidden, (4 if bias else 8) * hidden, bias=bias)
        self.down = linear(4 * hidden, hidden, bias=bias)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        h = self.up(self.norm2(x))
        if self.family == "gpt":
            h = F.gelu(h)
        else:
            gate, up = h.chunk(2, dim=2)
            h = F.silu(gate) * up
        return x + self.down(h)


class Model(torch.nn.Module):
    def __init__(self, family, layers, hidden=128, heads=2, vocab=512):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocab, hidden)
        self.blocks = torch.nn.ModuleList(Block(family, hidden, heads) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(hidden) if family == "gpt" else torch.nn.RMSNorm(hidden)
        self.head = torch.nn.Linear(hidden, vocab, bias=False)

    def forward(self, tokens, target):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), target.view(-1))


PRECISIONS = ("bf16", "amp-bf16", "compile-bf16")


def host_step(model, run, optimizer, tokens, amp, accumulate):
    """Host seconds of forward, backward and optimizer of one step; each phase starts with an idle GPU."""
    times = []

    def phase(call):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - begin)
        return result

    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=amp):
        loss = phase(lambda: run(tokens, tokens))
    phase(loss.backward)
    if accumulate:
        return times

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    phase(update)
    return times


def host_points(layer_counts, repeats):
    for family in ("gpt", "llama"):
        for layers in layer_counts:
            for precision in PRECISIONS:
                compiled = precision.startswith("compile")
                # Compiling takes longer than a quick run may.
                if out_of_time() or (compiled and (layers > 12 or ARGS.quick)):
                    continue
                host_phases(family, layers, precision, compiled, repeats)
                torch.cuda.empty_cache()
            bucket_phases(family, layers, repeats)


def host_phases(family, layers, precision, compiled, repeats):
    model = Model(family, layers).to("cuda", torch.float32 if precision == "amp-bf16" else torch.bfloat16)
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, 512, (1, 64), device="cuda")
    amp = precision == "amp-bf16"
    steps = [host_step(model, run, optimizer, tokens, amp, False) for _ in range(repeats + 4)][4:]
    shape = {"family": family, "layers": layers, "precision": precision.removeprefix("compile-"), "compile": compiled,
             "tensors": sum(1 for _ in model.parameters())}
    for phase, samples in zip(("forward", "backward", "optimizer"), zip(*steps)):
        add_point("host_" + phase, [s * 1e6 for s in samples], **shape)
    # Gradients that are there already are added to, tensor by tensor.
    steps = [host_step(model, run, optimizer, tokens, amp, True) for _ in range(repeats + 4)][4:]
    add_point("host_accumulating_backward", [s[1] * 1e6 for s in steps], **shape)


def bucket_phases(family, layers, repeats):
    """Backward under DistributedDataParallel with one rank: its hooks and its bucket's collectives."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    if not dist.is_initialized():
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29511")
        dist.init_process_group("nccl", rank=0, world_size=1)
    tokens = torch.randint(0, 512, (1, 64), device="cuda")
    for cap in (25, 0.1):
        if out_of_time():
            return
        model = Model(family, layers).to("cuda", torch.bfloat16)
        count = [0]

        def counting(state, bucket):
            count[0] += 1
            future = torch.futures.Future()
            future.set_result(bucket.buffer())
            return future

        counted = DistributedDataParallel(model, bucket_cap_mb=cap)
        counted.register_comm_hook(None, counting)
        for _ in range(3):
            count[0] = 0
            counted(tokens, tokens).backward()
        del counted
        wrapped = DistributedDataParallel(model, bucket_cap_mb=cap)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        steps = [host_step(model, wrapped, optimizer, tokens, False, False) for _ in range(repeats + 4)][4:]
        add_point("host_bucketed_backward", [s[1] * 1e6 for s in steps], family=family, layers=layers, precision="bf16",
                  compile=False, tensors=sum(1 for _ in model.parameters()), buckets=count[0])
        del wrapped, model, optimizer


def nvidia_smi(fields):
    try:
        out = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
        return out.stdout.strip().splitlines()[0] if out.returncode == 0 else ""
    except (OSError, subprocess.TimeoutExpired, IndexError):
        return ""


CLOCKS = "clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active"


def command_line():
    """The arguments as given; of a path only its last part: where a folder stands concerns nobody else."""
    return " ".join(["framework_operators.py"] + [os.path.basename(a) if "/" in a else a for a in sys.argv[1:]])


def write(path, before):
    properties = torch.cuda.get_device_properties(0)
    document = {
        "schema": 1,
        "tool": "framework_operators",
        "machine": {"gpu": properties.name, "sm_count": properties.multi_processor_count, "memory_bytes": properties.total_memory,
                    "l2_bytes": L2_BYTES, "cpu": platform.processor() or platform.machine(), "cpu_cores": os.cpu_count(), "os": platform.platform()},
        "driver": nvidia_smi("driver_version"),
        "libraries": {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()},
        "clocks": {"fields": CLOCKS, "before": before, "after": nvidia_smi(CLOCKS)},
        "environment": {k: v for k, v in os.environ.items() if k.startswith(("NCCL_", "CUDA_", "OMP_", "TORCH_"))},
        "command": command_line(),
        "date": datetime.date.today().isoformat(),
        "method": "CUDA graph replay, random normal data; rotated past 4 x L2 unless resident; median and quartiles of replays",
        "points": POINTS,
    }
    temporary = path + ".tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        head = {k: v for k, v in document.items() if k != "points"}
        file.write(json.dumps(head, indent=1)[:-2] + ',\n "points": [\n')
        file.write(",\n".join("  " + json.dumps(p) for p in POINTS))
        file.write("\n ]\n}\n")
    os.replace(temporary, path)


def main():
    global ARGS, L2_BYTES
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="framework.json", help="measurement file to write")
    parser.add_argument("--quick", action="store_true", help="fewer shapes: about half a minute")
    parser.add_argument("--budget", type=float, default=240, help="seconds after which no new point is begun")
    parser.add_argument("--host-only", action="store_true", help="host costs alone: what differs between two machines of a kind")
    parser.add_argument("--images-only", action="store_true", help="convolutions, batch norm and max pool alone")
    parser.add_argument("--scores-only", action="store_true", help="what relative attention does to its scores alone")
    ARGS = parser.parse_args()
    if not torch.cuda.is_available():
        print("framework_operators: no CUDA GPU is visible", file=sys.stderr)
        return 2
    L2_BYTES = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 50 * 2**20)
    ARGS.seconds_a_point = 0.008 if ARGS.quick else 0.08
    before = nvidia_smi(CLOCKS)
    quick = ARGS.quick
    # What every step needs first: a short budget then still leaves a profile with few class values.
    stages = [
        lambda: elementwise_points(ELEMENTS[1::4] if quick else ELEMENTS),
        lambda: norm_points(NORM[::4] if quick else NORM),
        lambda: loss_points(LOSS[::5] if quick else LOSS),
        lambda: attention_points(ATTENTION[::5] if quick else ATTENTION),
        lambda: strided_points(STRIDED[::4] if quick else STRIDED),
        lambda: optimizer_points(OPTIMIZER[::2] if quick else OPTIMIZER),
        lambda: embedding_points(EMBEDDING[::4] if quick else EMBEDDING),
        lambda: host_points((4, 12) if quick else (4, 12, 24), 8 if quick else 20),
        lambda: softmax_points(SOFTMAX[::4] if quick else SOFTMAX),
    ]
    if not quick:
        stages += [
            lambda: matmul_points(MATMUL),
            lambda: compiled_points(COMPILED, COMPILED_LOSS),
            lambda: score_points(SCORES),
            lambda: image_pass_points(IMAGES),
            lambda: convolution_points(CONVOLUTION),
        ]
    if ARGS.images_only:
        stages = [lambda: image_pass_points(IMAGES), lambda: convolution_points(CONVOLUTION)]
    if ARGS.scores_only:
        stages = [lambda: score_points(SCORES)]
    if ARGS.host_only:
        stages = [lambda: host_points((4, 12) if quick else (4, 12, 24), 8 if quick else 20)]
    for stage in stages:
        try:
            stage()
        except Exception as error:  # report and go on: the stages are independent
            print(f"framework_operators: {error}", file=sys.stderr)
        write(ARGS.output, before)  # an interrupted run leaves what it has
        if sys.stderr.isatty():
            print(f"\r{len(POINTS)} points, {time.time() - STARTED:.0f} s", end="", file=sys.stderr)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    print(f"framework_operators: {len(POINTS)} points in {time.time() - STARTED:.0f} s", file=sys.stderr)
    return 0


ATTENTION = [(b, h, kv, t, d, True, False)
             for h, kv, d in ((12, 12, 64), (16, 16, 64), (20, 20, 64), (32, 8, 64), (32, 32, 128), (32, 8, 128), (64, 8, 128))
             for b, t in ((1, 1024), (2, 2048), (8, 1024), (32, 1024), (1, 4096), (4, 2048), (4, 4096), (1, 8192), (1, 16384)) if b * t * h * d <= 2**28] + \
            [(b, h, h, t, d, False, dropout) for dropout in (False, True) for h, d in ((12, 64), (16, 64), (16, 128))
             for b, t in ((8, 128), (8, 512), (16, 512), (32, 512), (64, 512), (8, 1024), (2, 4096))]
NORM = [(rows, cols) for cols in (312, 768, 1024, 1280, 1600, 2048, 4096, 5120, 8192) for rows in (1024, 4096, 8192, 32768) if rows * cols <= 2**28]
LOSS = [(rows, cols) for cols in (30522, 32000, 50304, 50257, 128256) for rows in (1024, 4096, 8192, 16384, 32768) if rows * cols <= 1.7e9]
ELEMENTS = [2**p for p in range(13, 30)]
STRIDED = [(rows, cols) for cols in (3072, 8192, 11008, 14336) for rows in (1024, 4096, 8192, 16384)]
OPTIMIZER = [(1, 2**16), (10, 2**20), (100, 2**12), (100, 2**20), (300, 2**20), (100, 2**23), (30, 2**25)]
SOFTMAX = [(rows, cols) for cols in (128, 512, 1024, 2048) for rows in (4096, 32768, 196608) if rows * cols <= 2**28]
SCORES = [(b, h, q, 2 * q) for h, q in ((8, 192), (16, 384)) for b in (2, 8, 32)] + [(128, 8, 192, 384), (8, 10, 150, 300)]
# Of so many tokens some rows: those whose word lies in a group of the vocabulary.
INDEXED = [(tokens // part, tokens, cols) for tokens in (1536, 6144, 24576) for part in (2, 8) for cols in (512, 1024, 20000)]
COMPILED = [(8192, 768, 3072), (32768, 768, 3072), (8192, 2048, 8192), (4096, 4096, 11008)]
COMPILED_LOSS = [(8192, 50304), (32768, 50304), (8192, 128256), (4096, 32000)]
EMBEDDING = [(tokens, vocab, cols) for vocab, cols in ((50304, 768), (32000, 4096), (128256, 2048), (30522, 1024)) for tokens in (1024, 8192, 32768)]
MATMUL = [(m, n, k) for m in (1024, 4096, 8192, 32768) for n, k in ((768, 768), (3072, 768), (2304, 768), (1280, 5120), (4096, 4096), (11008, 4096),
          (16384, 2048), (50304, 768), (50257, 768), (8192, 8192))] + [(4095, 4095, 4095), (4096, 4096, 4096), (2049, 4096, 4096), (4096, 4098, 4096), (4096, 4100, 4096)]
# Each layer of ResNet-18 to 152 once: channels, size, filters, kernel, stride.
RESNET = [(3, 224, 64, 7, 2), (64, 56, 64, 1, 1), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (256, 56, 64, 1, 1), (256, 56, 128, 1, 1), (128, 56, 128, 3, 2),
          (64, 56, 128, 3, 2), (64, 56, 128, 1, 2), (256, 56, 512, 1, 2), (128, 28, 128, 3, 1), (128, 28, 512, 1, 1), (512, 28, 128, 1, 1),
          (512, 28, 256, 1, 1), (256, 28, 256, 3, 2), (128, 28, 256, 3, 2), (512, 28, 1024, 1, 2), (256, 14, 256, 3, 1), (256, 14, 1024, 1, 1), (1024, 14, 256, 1, 1),
          (1024, 14, 512, 1, 1), (512, 14, 512, 3, 2), (256, 14, 512, 3, 2), (1024, 14, 2048, 1, 2), (512, 7, 512, 3, 1), (512, 7, 2048, 1, 1), (2048, 7, 512, 1, 1)]
CONVOLUTION = [(b, *layer) for b in (64, 256, 32, 128, 16) for layer in RESNET]
IMAGES = [(b, c, s) for b in (64, 256, 32, 128, 16) for c, s in ((64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14), (1024, 14), (512, 7), (2048, 7))]

if __name__ == "__main__":
    sys.exit(main())
