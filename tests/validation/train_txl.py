#!/usr/bin/env python3
"""Train Transformer-XL (Dai et al. 2019, arXiv 1901.02860) on one GPU and time the steps: measured rows for
`stepsight validate`.

The shapes and the order of operators are those that NVIDIA's DeepLearningExamples publish for WikiText-103 (base:
one width of embeddings; large: widths that narrow by four from cluster to cluster). Tokens follow Zipf's law over
the vocabulary, since the adaptive softmax costs what the words' ranks make it cost. Fused AdamW.
Example: python3 tests/validation/train_txl.py -o own_h200_txl_runs.csv
"""
import argparse
import csv
import datetime
import math
import os
import statistics
import sys

import torch
import torch.nn.functional as F
from torch import nn

WARMUP, TIMED = 8, 12
VOCAB, CUTOFFS = 267735, (19997, 39997, 199997)
EDGES = (0, *CUTOFFS, VOCAB)
SHAPES = {"txl-base": dict(layers=16, hidden=512, heads=8, ffn=2048, segment=192, narrowing=1),
          "txl-large": dict(layers=18, hidden=1024, heads=16, ffn=4096, segment=384, narrowing=4)}
# Shape, batch, precision.
RUNS = [("txl-base", 16, "bf16"), ("txl-base", 32, "tf32"), ("txl-base", 96, "bf16"), ("txl-base", 96, "amp-bf16"),
        ("txl-large", 8, "bf16"), ("txl-large", 16, "tf32"), ("txl-large", 32, "bf16"), ("txl-large", 32, "amp-bf16")]


@torch.jit.script
def add_and_scale(content, distance, scale: float):
    return scale * (content + distance)


class Attention(nn.Module):
    """Tensors are (position, batch, width), scores (batch, head, query, key)."""

    def __init__(self, hidden, heads, dropout):
        super().__init__()
        self.heads, self.width, self.dropout = heads, hidden // heads, dropout
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.positions = nn.Linear(hidden, hidden, bias=False)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, x, memory, distances, content_bias, position_bias, mask):
        queries, batch, hidden = x.shape
        seen = torch.cat((memory, x), 0)
        keys = seen.shape[0]
        q, k, v = self.qkv(seen).chunk(3, dim=-1)
        q = q[-queries:].view(queries, batch, self.heads, self.width)
        k, v = (t.view(keys, batch, self.heads, self.width) for t in (k, v))
        r = self.positions(distances).view(keys, self.heads, self.width)
        content = torch.einsum("ibnd,jbnd->bnij", q + content_bias, k)
        distance = torch.einsum("ibnd,jnd->bnij", q + position_bias, r)
        # Row i is wanted shifted by i columns: with a column more in front, the same memory read in rows of
        # another length has it so.
        column = torch.zeros(batch, self.heads, queries, 1, device=x.device, dtype=distance.dtype)
        distance = torch.cat((column, distance), dim=3).view(batch, self.heads, keys + 1, queries)
        distance = distance.narrow(2, 1, keys).view(batch, self.heads, queries, keys)
        scores = add_and_scale(content, distance, self.width ** -0.5)
        scores.masked_fill_(mask, -float("inf"))
        weights = F.softmax(scores, dim=3)
        y = torch.einsum("bnij,jbnd->ibnd", weights, v).contiguous().view(queries, batch, hidden)
        return self.norm(x + F.dropout(self.out(y), self.dropout))


class Layer(nn.Module):
    def __init__(self, hidden, heads, ffn, dropout):
        super().__init__()
        self.attention = Attention(hidden, heads, dropout)
        self.ffn = nn.Sequential(nn.Linear(hidden, ffn), nn.ReLU(inplace=True), nn.Dropout(dropout),
                                 nn.Linear(ffn, hidden), nn.Dropout(dropout))
        self.norm = nn.LayerNorm(hidden)

    def forward(self, x, *rest):
        x = self.attention(x, *rest)
        return self.norm(x + self.ffn(x))


def rows_of_group(tokens, first, end):
    return ((tokens >= first) & (tokens < end)).nonzero().squeeze(1)


class Vectors(nn.Module):
    """Word vectors, tied between embedding and softmax; with `narrowing` 4 those of each cluster are a quarter as
    wide as the group's before, and a projection brings them to the model's width."""

    def __init__(self, hidden, narrowing):
        super().__init__()
        self.hidden, self.narrowing = hidden, narrowing
        if narrowing == 1:
            self.tables = nn.ParameterList([nn.Parameter(torch.empty(VOCAB, hidden))])
            return
        widths = [hidden // narrowing**i for i in range(len(EDGES) - 1)]
        self.tables = nn.ParameterList(nn.Parameter(torch.empty(b - a, w)) for a, b, w in zip(EDGES, EDGES[1:], widths))
        self.projections = nn.ParameterList(nn.Parameter(torch.empty(hidden, w)) for w in widths)

    def forward(self, tokens):
        if self.narrowing == 1:
            return F.embedding(tokens, self.tables[0]) * math.sqrt(self.hidden)
        flat = tokens.reshape(-1)
        out = torch.zeros(flat.numel(), self.hidden, device=flat.device, dtype=self.tables[0].dtype)
        for i, table in enumerate(self.tables):
            rows = rows_of_group(flat, EDGES[i], EDGES[i + 1])
            if rows.numel() == 0:
                continue
            found = F.linear(F.embedding(flat.index_select(0, rows) - EDGES[i], table), self.projections[i])
            out.index_copy_(0, rows, found.to(out.dtype))
        return out.view(*tokens.shape, self.hidden) * math.sqrt(self.hidden)


class AdaptiveSoftmax(nn.Module):
    def __init__(self, hidden, vectors):
        super().__init__()
        self.vectors = [vectors]  # a list: its parameters are not ours
        clusters = len(CUTOFFS)
        self.cluster_weight = nn.Parameter(torch.empty(clusters, hidden))
        self.cluster_bias = nn.Parameter(torch.zeros(clusters))
        if vectors.narrowing == 1:
            self.biases = nn.ParameterList([nn.Parameter(torch.zeros(VOCAB))])
        else:
            self.biases = nn.ParameterList(nn.Parameter(torch.zeros(b - a)) for a, b in zip(EDGES, EDGES[1:]))
            self.head_projection = nn.Parameter(torch.empty(hidden, hidden))

    def logits(self, rows, group, weight, bias):
        tables = self.vectors[0]
        if tables.narrowing > 1:
            projection = self.head_projection if group == 0 else tables.projections[group]
            rows = F.linear(rows, projection.t())
        return F.linear(rows, weight, bias)

    def forward(self, hidden, targets):
        tables = self.vectors[0]
        groups = []
        for i, (a, b) in enumerate(zip(EDGES, EDGES[1:])):
            weight, bias = (tables.tables[0][a:b], self.biases[0][a:b]) if tables.narrowing == 1 else (tables.tables[i], self.biases[i])
            if i == 0:
                weight, bias = torch.cat((weight, self.cluster_weight)), torch.cat((bias, self.cluster_bias))
            groups.append((weight, bias))
        head = F.log_softmax(self.logits(hidden, 0, *groups[0]), dim=1)
        loss = torch.zeros(targets.shape, dtype=head.dtype, device=head.device)
        for i, (a, b) in enumerate(zip(EDGES, EDGES[1:])):
            rows = rows_of_group(targets, a, b)
            if rows.numel() == 0:
                continue
            wanted = targets.index_select(0, rows) - a
            of_head = head.index_select(0, rows)
            if i == 0:
                found = of_head.gather(1, wanted[:, None]).squeeze(1)
            else:
                tail = F.log_softmax(self.logits(hidden.index_select(0, rows), i, *groups[i]), dim=1)
                found = of_head[:, -i] + tail.gather(1, wanted[:, None]).squeeze(1)
            loss.index_copy_(0, rows, -found.to(loss.dtype))
        return loss


class TransformerXL(nn.Module):
    def __init__(self, layers, hidden, heads, ffn, segment, narrowing, dropout=0.1):
        super().__init__()
        self.segment, self.dropout = segment, dropout
        self.vectors = Vectors(hidden, narrowing)
        self.content_bias = nn.Parameter(torch.zeros(heads, hidden // heads))
        self.position_bias = nn.Parameter(torch.zeros(heads, hidden // heads))
        self.layers = nn.ModuleList(Layer(hidden, heads, ffn, dropout) for _ in range(layers))
        self.softmax = AdaptiveSoftmax(hidden, self.vectors)
        self.register_buffer("rates", 10000.0 ** -(torch.arange(0, hidden, 2.0) / hidden), persistent=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0, 0.02)

    def forward(self, tokens, targets, memories):
        queries, keys = tokens.shape[0], tokens.shape[0] + self.segment
        x = self.vectors(tokens)
        mask = torch.ones(queries, keys, device=x.device, dtype=torch.bool).triu(1 + self.segment)[None, None]
        angles = torch.outer(torch.arange(keys - 1, -1, -1.0, device=x.device), self.rates.float())
        distances = F.dropout(torch.cat((angles.sin(), angles.cos()), -1).to(x.dtype), self.dropout)
        x = F.dropout(x, self.dropout)
        states = []
        for layer, memory in zip(self.layers, memories):
            states.append(x)
            x = layer(x, memory, distances, self.content_bias, self.position_bias, mask)
        x = F.dropout(x, self.dropout)
        with torch.no_grad():
            memories = [torch.cat((m, s.to(m.dtype)), 0)[-self.segment:].detach() for m, s in zip(memories, states)]
        return self.softmax(x.reshape(-1, x.shape[-1]), targets.reshape(-1)), memories


def zipf(count):
    """Tokens of a text whose words fall off as one over their rank."""
    spread = torch.rand(count, device="cuda", dtype=torch.float64)
    return ((VOCAB + 1.0) ** spread - 1).long().clamp_(0, VOCAB - 1)


def train(name, batch, precision, profile):
    shape = SHAPES[name]
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    model = TransformerXL(**shape).to("cuda", dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    data = zipf(4 * 2 * shape["segment"] * batch).view(4, 2, shape["segment"], batch)
    memories = [torch.zeros(shape["segment"], batch, shape["hidden"], device="cuda", dtype=dtype) for _ in range(shape["layers"])]

    def step(i):
        nonlocal memories
        tokens, targets = data[i % 4]
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "amp-bf16"):
            loss, memories = model(tokens, targets, memories)
        loss.float().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for i in range(WARMUP):
        step(i)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(TIMED + 1)]
    marks[0].record()
    for i in range(TIMED):
        loss = step(i)
        marks[i + 1].record()
    torch.cuda.synchronize()
    assert math.isfinite(float(loss.float().mean()))
    times = [a.elapsed_time(b) * 1e-3 for a, b in zip(marks, marks[1:])]
    peak = torch.cuda.max_memory_allocated() / 2**30
    if profile:
        write_profile(f"{profile}/{name}_b{batch}_{precision}.txt", step)
    parameters = sum(p.numel() for p in model.parameters())
    return statistics.median(times), peak, parameters, times


def write_profile(path, step):
    """Kernels of two steps by name, and how long the card was busy: where a prediction is to be taken apart."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU], record_shapes=True) as prof:
        for i in range(2):
            step(i)
        torch.cuda.synchronize()
    with open(path, "w", encoding="utf-8") as file:
        file.write(prof.key_averages(group_by_input_shape=True).table(sort_by="self_cuda_time_total", row_limit=70, max_name_column_width=60))


def row(number, name, batch, precision, header, measured):
    shape, (seconds, peak, parameters, _) = SHAPES[name], measured
    facts = {"id": f"H2T{number:02d}", "source": f'measured for this project, {datetime.date.today().isoformat()}', "source_table": "Transformer-XL",
             "gpu": "H200-SXM", "gpus": 1, "nodes": 1, "model": name, "family": "decoder (Transformer-XL, relative attention with memory)",
             "params": parameters, "layers": shape["layers"], "hidden": shape["hidden"], "heads": shape["heads"], "kv_heads": shape["heads"],
             "ffn_hidden": shape["ffn"], "vocab": VOCAB, "seq_len": shape["segment"], "micro_batch": batch, "global_batch": batch, "grad_accum": 1,
             "precision": precision, "dp": 1, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "sharding": "none", "step_time_s": f"{seconds:.6f}", "complete": "yes",
             "std_family": "txl", "std_gpu": "h200-sxm", "std_compute": "tf32" if precision == "tf32" else "bf16",
             "std_grad_bytes": 2 if precision == "bf16" else 4, "std_dp": "ddp", "std_recompute": "none", "std_flash": "no", "std_compile": "no",
             "peak_memory_GiB": f"{peak:.2f}"}
    return [facts.get(column, "") for column in header]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="txl_runs.csv", help="rows, each written as soon as it was measured")
    parser.add_argument("--profile", metavar="FOLDER", help="also write there which kernels took how long")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("train_txl: no CUDA GPU is visible", file=sys.stderr)
        return 2
    like = os.path.join(os.path.dirname(os.path.abspath(__file__)), "own_h200_runs.csv")
    with open(like, encoding="utf-8") as file:
        header = next(csv.reader(file))
    with open(args.output, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        for number, (name, batch, precision) in enumerate(RUNS, 1):
            measured = train(name, batch, precision, args.profile)
            out.writerow(row(number, name, batch, precision, header, measured))
            file.flush()
            print(f"{name} b{batch} {precision}: {measured[0] * 1e3:.2f} ms (of {min(measured[3]) * 1e3:.2f} to {max(measured[3]) * 1e3:.2f}), "
                  f"{measured[1]:.2f} GiB, {measured[2]} parameters", file=sys.stderr, flush=True)
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
