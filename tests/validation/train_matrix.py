"""Which training runs are measured on several GPUs, and how a run becomes a row of a runs table.

Needs Python alone: train_runs.py does the training and is the only one that knows PyTorch.
"""
import csv
import dataclasses
import io

COLUMNS = (
    "id,source,source_table,gpu,gpus,nodes,interconnect_intra,interconnect_inter,model,family,params,layers,hidden,"
    "heads,kv_heads,ffn_hidden,vocab,seq_len,micro_batch,global_batch,grad_accum,precision,dp,tp,pp,vpp,cp,ep,"
    "sharding,recompute,attention,compile,metric,value,unit,mfu_or_tflops,step_time_s,step_time_how,arch_from,complete,"
    "measured_how,flag,notes,std_family,std_gpu,std_compute,std_grad_bytes,std_dp,std_overlap,std_offload,"
    "std_recompute,std_flash,std_compile,std_intra,std_inter_gbps_per_node"
).split(",")


@dataclasses.dataclass(frozen=True)
class Model:
    """A decoder as `stepsight` counts its operators: one projection for q, k and v, causal attention."""
    name: str
    family: str  # gpt: LayerNorm, biases, GELU, learned positions, tied head; llama: RMSNorm, SwiGLU, no RoPE
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    seq: int

    @property
    def head_dim(self):
        return self.hidden // self.heads

    @property
    def parameters(self):
        h, f = self.hidden, self.ffn
        kv = self.kv_heads * self.head_dim
        if self.family == "gpt":
            block = 4 * h + (3 * h * h + 3 * h) + (h * h + h) + (h * f + f) + (f * h + h)
            return self.vocab * h + self.seq * h + self.layers * block + 2 * h
        block = 2 * h + h * (h + 2 * kv) + h * h + 2 * h * f + f * h
        return 2 * self.vocab * h + self.layers * block + h


MODELS = {m.name: m for m in (
    Model("gpt2-124m", "gpt", 12, 768, 12, 12, 3072, 50304, 1024),
    Model("gpt2-774m", "gpt", 36, 1280, 20, 20, 5120, 50304, 1024),
    Model("gpt2-1558m", "gpt", 48, 1600, 25, 25, 6400, 50304, 1024),
    Model("llama-1b", "llama", 16, 2048, 32, 8, 8192, 128256, 2048),
    Model("llama-3b", "llama", 28, 3072, 24, 8, 8192, 128256, 2048),
    Model("llama2-7b", "llama", 32, 4096, 32, 32, 11008, 32000, 2048),
)}

# For the flow of the script on a machine without a GPU.
TINY = {
    "gpt2-124m": Model("gpt2-124m", "gpt", 2, 64, 2, 2, 128, 256, 16),
    "gpt2-774m": Model("gpt2-774m", "gpt", 3, 64, 4, 4, 128, 256, 16),
    "gpt2-1558m": Model("gpt2-1558m", "gpt", 3, 64, 4, 4, 256, 256, 16),
    "llama-1b": Model("llama-1b", "llama", 2, 64, 4, 2, 128, 512, 16),
    "llama-3b": Model("llama-3b", "llama", 3, 64, 4, 2, 128, 512, 16),
    "llama2-7b": Model("llama2-7b", "llama", 3, 64, 4, 4, 128, 256, 16),
}

FAMILY_TEXT = {
    "gpt": "decoder (GPT: LayerNorm, biases, GELU, learned positions, tied head)",
    "llama": "decoder (Llama: RMSNorm, SwiGLU, GQA, untied head, no RoPE)",
    "llama-apart": "decoder (Llama: RMSNorm, SwiGLU, GQA, untied head, RoPE, projections apart)",
}
PRECISION_TEXT = {
    ("bf16", False): "pure bf16 (parameters, gradients, Adam states)",
    ("amp", False): "fp32 parameters and gradients, bf16 autocast",
    ("bf16", True): "mixed: fp32 parameters and Adam states, gathered and reduced in bf16 (FSDP2)",
    ("fp32-reduce", True): "mixed: fp32 parameters and Adam states, gathered in bf16, reduced in fp32 (FSDP2)",
}


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: `batch` sequences a GPU and micro-step, `accum` micro-steps a step."""
    model: str
    gpus: int
    batch: int
    strategy: str = "none"    # none (one GPU), ddp, fsdp
    accum: int = 1
    precision: str = "bf16"   # bf16, amp; with fsdp: bf16, fp32-reduce
    bucket_mb: int = 25       # ddp
    compile: bool = False
    trace: bool = False       # keep a profiler trace of two steps
    apart: bool = False       # llama as most people have it: RoPE, and q, k, v, gate and up by products of their own
    id: str = ""

    @property
    def key(self):
        """Runs with the same key train the same model object."""
        return (self.model, self.strategy == "fsdp", self.precision, self.compile, self.apart)


def ddp(gpus, model, batch, **more):
    return Run(model, gpus, batch, "ddp", **more)


def fsdp(gpus, model, batch, **more):
    return Run(model, gpus, batch, "fsdp", **more)


def parallel_runs(n):
    """Runs on n GPUs, those that say most first; neighbours share a model."""
    return [
        ddp(n, "gpt2-774m", 4), ddp(n, "gpt2-774m", 1), ddp(n, "gpt2-774m", 8, trace=True),
        ddp(n, "gpt2-774m", 4, bucket_mb=5), ddp(n, "gpt2-774m", 4, bucket_mb=100), ddp(n, "gpt2-774m", 4, accum=4),
        ddp(n, "llama-1b", 4), ddp(n, "llama-1b", 1), ddp(n, "llama-1b", 2, trace=True),
        ddp(n, "llama-1b", 1, bucket_mb=5), ddp(n, "llama-1b", 1, bucket_mb=100), ddp(n, "llama-1b", 1, accum=4),
        fsdp(n, "llama-1b", 4, trace=True), fsdp(n, "llama-1b", 1),
        ddp(n, "llama2-7b", 1), ddp(n, "llama2-7b", 2),
        fsdp(n, "llama2-7b", 1), fsdp(n, "llama2-7b", 2, trace=True),
        ddp(n, "gpt2-124m", 8), ddp(n, "gpt2-124m", 4), ddp(n, "gpt2-124m", 32), ddp(n, "gpt2-124m", 1),
        ddp(n, "gpt2-124m", 8, bucket_mb=100),
        ddp(n, "gpt2-124m", 8, precision="amp"), ddp(n, "gpt2-774m", 4, precision="amp"),
        ddp(n, "llama-1b", 2, precision="amp"),
        ddp(n, "gpt2-1558m", 2), ddp(n, "gpt2-1558m", 8),
        fsdp(n, "gpt2-1558m", 4), fsdp(n, "gpt2-1558m", 2, accum=4),
        ddp(n, "llama-3b", 1), ddp(n, "llama-3b", 2),
        fsdp(n, "llama-3b", 2), fsdp(n, "llama-3b", 2, precision="fp32-reduce"),
        ddp(n, "gpt2-124m", 8, compile=True), ddp(n, "llama-1b", 4, compile=True),
    ]


def single_runs():
    """The same work on one GPU: same batch a GPU (weak scaling) and same global batch (strong)."""
    def one(model, batch, **more):
        return Run(model, 1, batch, **more)
    return [
        one("gpt2-774m", 4), one("gpt2-774m", 8), one("gpt2-774m", 1), one("gpt2-774m", 4, accum=4),
        one("llama-1b", 4), one("llama-1b", 1), one("llama-1b", 2), one("llama-1b", 1, accum=4),
        fsdp(1, "llama-1b", 4), fsdp(1, "llama-1b", 1),
        one("llama2-7b", 2), one("llama2-7b", 1), one("llama2-7b", 4),
        one("gpt2-124m", 8), one("gpt2-124m", 4), one("gpt2-124m", 32), one("gpt2-124m", 1), one("gpt2-124m", 16),
        one("gpt2-124m", 8, precision="amp"), one("gpt2-774m", 4, precision="amp"), one("llama-1b", 2, precision="amp"),
        one("gpt2-1558m", 2), one("gpt2-1558m", 8),
        one("llama-3b", 1), one("llama-3b", 2),
        fsdp(1, "gpt2-1558m", 4), fsdp(1, "llama-3b", 2), fsdp(1, "llama2-7b", 1),
        one("gpt2-124m", 8, compile=True), one("llama-1b", 4, compile=True),
    ]


def trial_runs(n):
    """Every kind of run once, small: finds what does not work on a machine within a minute."""
    alone = [Run("gpt2-124m", 1, 8), Run("gpt2-124m", 1, 4, accum=2), Run("gpt2-124m", 1, 8, precision="amp")]
    wrapped = [
        ddp(n, "gpt2-124m", 8, trace=True), ddp(n, "gpt2-124m", 8, bucket_mb=5), ddp(n, "gpt2-124m", 4, accum=2),
        ddp(n, "gpt2-124m", 8, precision="amp"), fsdp(n, "gpt2-124m", 8, trace=True), fsdp(n, "gpt2-124m", 4, accum=2),
        fsdp(n, "llama-1b", 1), fsdp(n, "llama-1b", 1, precision="fp32-reduce"), ddp(n, "llama-1b", 1),
    ]
    return wrapped + alone + [ddp(n, "gpt2-124m", 8, compile=True)]


def apart_runs(n):
    """Llama as most people have it, on n GPUs and the same work on one."""
    def one(model, batch, **more):
        return Run(model, 1, batch, **more)
    wrapped = [
        ddp(n, "llama-1b", 4), ddp(n, "llama-1b", 2), fsdp(n, "llama-1b", 4), fsdp(n, "llama-1b", 8),
        ddp(n, "llama-3b", 2), ddp(n, "llama-3b", 4), fsdp(n, "llama-3b", 2), fsdp(n, "llama-3b", 4),
        ddp(n, "llama2-7b", 1), ddp(n, "llama2-7b", 2), fsdp(n, "llama2-7b", 2), fsdp(n, "llama2-7b", 4),
    ] if n > 1 else []
    alone = [
        one("llama-1b", 4), one("llama-1b", 2), one("llama-3b", 2), one("llama-3b", 4),
        one("llama2-7b", 1), one("llama2-7b", 2),
        fsdp(1, "llama-1b", 4), fsdp(1, "llama-1b", 8), fsdp(1, "llama-3b", 2), fsdp(1, "llama-3b", 4),
    ]
    return [dataclasses.replace(run, apart=True) for run in wrapped + alone]


def world_sizes(n):
    """GPU counts that are measured on a machine with n, largest first."""
    return sorted({n} | {1 << i for i in range(n.bit_length()) if 1 << i <= n}, reverse=True)


def matrix(n, trial=False, apart=False):
    """All runs of a machine with n GPUs, each with its id, in the order in which they are done."""
    if apart:
        runs = apart_runs(n)
    elif trial:
        runs = trial_runs(n)
    else:
        runs = [run for world in world_sizes(n) if world > 1 for run in parallel_runs(world)] + single_runs()
    count = {}
    named = []
    for run in runs:
        count[run.gpus] = count.get(run.gpus, 0) + 1
        prefix = "H5" if apart else "T4" if trial else "H4"
        named.append(dataclasses.replace(run, id=f"{prefix}{run.gpus:02d}{count[run.gpus]:02d}"))
    return named


def estimated_seconds(run, model):
    """Rough wall time of a run, to leave out those that no longer fit; too long rather than too short."""
    tokens = run.batch * model.seq * run.accum
    gpu = 6 * model.parameters * tokens / 300e12
    host = 2.5e-3 * model.layers * run.accum
    update = model.parameters * (28 if run.strategy == "fsdp" or run.precision == "amp" else 14) / 3e12
    steps = 24 + (3 if run.trace else 0)
    return 2.0 + model.parameters / 4e9 + steps * (max(gpu, host) + update) + (35 if run.compile else 0) + (3 if run.trace else 0)


def sharding_text(run):
    if run.strategy == "none":
        return "none"
    if run.strategy == "fsdp":
        return "FSDP2 (fully_shard a block, parameters resharded after forward)"
    # A cap that is stated holds for the first bucket too; the default's first bucket is 1 MB.
    first = "" if run.bucket_mb == 25 else f", first_bucket_mb={run.bucket_mb}"
    wrapper = "DDP wrapper, 1 rank" if run.gpus == 1 else "DDP"
    return f"{wrapper}, bucket_cap_mb={run.bucket_mb}{first}"


def table_name(run):
    words = [run.strategy if run.strategy != "none" else "eager"]
    if run.precision == "amp":
        words.append("amp")
    if run.accum > 1:
        words.append("accum")
    if run.compile:
        words.append("compile")
    return "-".join(words)


def gradient_bytes(run):
    return 4 if run.precision in ("amp", "fp32-reduce") else 2


def row(run, model, facts, result=None):
    """A row of the table as a dict. `facts`: gpu, std_gpu, source, link, std_intra, how. `result`: step_s
    (median), notes, flag; without it the row says what will be measured and leaves the time empty."""
    result = result or {}
    step_s = result.get("step_s")
    parallel = run.gpus > 1
    out = dict.fromkeys(COLUMNS, "")
    out.update({
        "id": run.id, "source": facts["source"], "source_table": table_name(run), "gpu": facts["gpu"],
        "gpus": run.gpus, "nodes": 1, "interconnect_intra": facts["link"] if parallel else "",
        "model": model.name, "family": FAMILY_TEXT[model.family + ("-apart" if run.apart else "")], "params": model.parameters, "layers": model.layers,
        "hidden": model.hidden, "heads": model.heads, "kv_heads": model.kv_heads, "ffn_hidden": model.ffn,
        "vocab": model.vocab, "seq_len": model.seq, "micro_batch": run.batch,
        "global_batch": run.batch * run.accum * run.gpus, "grad_accum": run.accum,
        "precision": PRECISION_TEXT[run.precision, run.strategy == "fsdp"], "dp": run.gpus, "tp": 1, "pp": 1, "cp": 1,
        "ep": 1, "sharding": sharding_text(run), "recompute": "none", "attention": "flash (PyTorch SDPA, causal)",
        "compile": "yes" if run.compile else "no", "metric": "median step", "unit": "ms", "step_time_how": "read",
        "complete": "yes", "measured_how": facts["how"], "flag": result.get("flag", ""),
        "notes": result.get("notes", ""), "std_family": model.family, "std_gpu": facts["std_gpu"],
        "std_compute": "bf16", "std_grad_bytes": gradient_bytes(run),
        "std_dp": "fsdp" if run.strategy == "fsdp" else "ddp", "std_recompute": "none", "std_flash": "yes",
        "std_compile": "yes" if run.compile else "no", "std_intra": facts["std_intra"] if parallel else "",
    })
    if step_s is not None:
        out["value"] = f"{step_s * 1e3:.6g}"
        out["step_time_s"] = f"{step_s:.6g}"
    return out


def csv_line(values):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()


HEADER = csv_line(COLUMNS)


def row_line(fields):
    return csv_line([fields[c] for c in COLUMNS])


def ids_in(path):
    """The runs that a table holds already; none when it does not exist."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return {r["id"] for r in csv.DictReader(file) if r.get("step_time_s")}
    except FileNotFoundError:
        return set()


# --- what a profile of the GPU's activities says ---------------------------------------------------

def is_communication(name):
    return "nccl" in name.lower()


def unite(spans):
    out = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def total(spans):
    return sum(end - begin for begin, end in spans)


def overlap_of(a, b):
    """Time covered by both of two united lists of spans."""
    i = j = 0
    sum_ = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        sum_ += max(0, high - low)
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return sum_


def step_ends(activities, mark):
    """Ends of the steps: the last kernel of each unbroken train of kernels of compute that bear `mark`."""
    compute = sorted((a for a in activities if not is_communication(a[0])), key=lambda a: a[1])
    ends = []
    for i, (name, _, end) in enumerate(compute):
        last = i + 1 == len(compute) or mark not in compute[i + 1][0]
        if mark in name and last:
            ends.append(end)
    return ends


def communication_of(activities, steps, mark="FusedAdam"):
    """Milliseconds a step, in the last `steps - 1` of `steps` profiled steps, which the first one leads in:
    {exposed, communication, compute, step}, or {} when the steps cannot be told apart.

    activities: (name, begin, end) of what the GPU ran, in microseconds. Exposed: communication runs and
    nothing else does."""
    ends = step_ends(activities, mark)
    if steps < 2 or len(ends) != steps:
        return {}
    begin, end = ends[0], ends[-1]
    clip = [(name, max(b, begin), min(e, end)) for name, b, e in activities if e > begin and b < end]
    communication = unite([(b, e) for name, b, e in clip if is_communication(name)])
    compute = unite([(b, e) for name, b, e in clip if not is_communication(name)])
    each = 1e3 * (steps - 1)
    busy = total(communication)
    return {"exposed": (busy - overlap_of(communication, compute)) / each, "communication": busy / each,
            "compute": total(compute) / each, "step": (end - begin) / each}


def activities_of(trace):
    """(name, begin, end) of kernels, copies and fills of a chrome trace, in microseconds."""
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    events = trace.get("traceEvents", []) if isinstance(trace, dict) else trace  # some writers leave the object out
    return [(e["name"], float(e["ts"]), float(e["ts"]) + float(e["dur"]))
            for e in events if e.get("ph") == "X" and e.get("cat") in kinds]
