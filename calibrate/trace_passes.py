#!/usr/bin/env python3
"""Points of batch norm and max pool from a PyTorch profiler trace, as a measurement file.

    trace_passes.py TRACE.json[.gz] --gpu "NVIDIA H200" -o OUT.json

The trace must be of training in channels-last with record_shapes. Each call's kernels are added up; calls
of one shape give one point with their median and quartiles. Unlike framework_operators.py's points these
are not rotated past the L2: a tensor that the operator before wrote may still lie there, as it does in
training.
"""
import argparse
import bisect
import collections
import gzip
import json
import statistics
import sys

# Operator in the trace: op of the point, and the index of the input whose elements it counts.
OPERATORS = {
    "aten::native_batch_norm": ("batch_norm", 0),
    "aten::native_batch_norm_backward": ("batch_norm_backward", 0),
    "aten::max_pool2d_with_indices": ("max_pool", None),
    "aten::max_pool2d_with_indices_backward": ("max_pool_backward", 0),
}
DTYPES = {"c10::BFloat16": "bfloat16", "c10::Half": "float16", "float": "float32"}


def read_events(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path) as file:
        return json.load(file)["traceEvents"]


def calls_of(events):
    """(operator, summed kernel time in us, its input sizes, their type) of every call above."""
    operators = collections.defaultdict(list)
    launches = {}
    for e in events:
        if e.get("cat") == "cpu_op" and e["name"] in OPERATORS:
            operators[e["tid"]].append(e)
        elif e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {}):
            launches[e["args"]["correlation"]] = e
    for calls in operators.values():
        calls.sort(key=lambda e: e["ts"])
    starts = {tid: [e["ts"] for e in calls] for tid, calls in operators.items()}
    times = collections.defaultdict(float)
    found = {}
    for e in events:
        if e.get("cat") not in ("kernel", "gpu_memset"):
            continue
        launch = launches.get(e["args"].get("correlation"))
        if launch is None or launch["tid"] not in operators:
            continue
        tid = launch["tid"]
        i = bisect.bisect_right(starts[tid], launch["ts"]) - 1
        if i < 0:
            continue
        call = operators[tid][i]
        if launch["ts"] > call["ts"] + call["dur"]:
            continue
        # The fill of the pooled input's gradient is a pass of its own.
        if "max_pool" in call["name"] and "fill" in e["name"].lower():
            continue
        times[tid, i] += e["dur"]
        found[tid, i] = call
    for key, call in found.items():
        yield call["name"], times[key], call["args"]["Input Dims"], call["args"].get("Input type", [""])


def shape_of(name, dims):
    op, at = OPERATORS[name]
    if op == "max_pool":
        n, c, h, w = dims[0]
        return op, n * ((h + 1) // 2) * ((w + 1) // 2), c  # stride 2, padded by half the window
    n, c, h, w = dims[at]
    return op, n * h * w, c


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--gpu", required=True, help="the card's name, for the record")
    parser.add_argument("-o", "--output", required=True)
    flags = parser.parse_args()
    samples = collections.defaultdict(list)
    for name, time, dims, types in calls_of(read_events(flags.trace)):
        op, rows, cols = shape_of(name, dims)
        dtype = DTYPES.get(types[0], types[0]) if types else ""
        samples[op, rows, cols, dtype or "bfloat16"].append(time)
    if not samples:
        sys.exit(f"{flags.trace}: no batch norm and no max pool with kernels in it")
    lines = []
    for (op, rows, cols, dtype), times in sorted(samples.items()):
        q1, median, q3 = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
        lines.append("  " + json.dumps({"op": op, "rows": rows, "cols": cols, "dtype": dtype,
                                        "median_us": round(median, 4), "q1_us": round(q1, 4),
                                        "q3_us": round(q3, 4), "samples": len(times)}))
    head = {"schema": 1, "tool": "trace_passes", "machine": {"gpu": flags.gpu},
            "method": "kernel times of a profiled training step, summed over each call; median of the calls"}
    text = json.dumps(head, indent=1)[:-2] + ',\n "points": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    with open(flags.output, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
