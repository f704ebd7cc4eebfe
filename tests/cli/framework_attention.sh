#!/usr/bin/env bash
# framework_attention.sh PROGRAM SOURCE_DIR: what framework_operators.py times as attention's backward is
# the backward alone. A stand-in for PyTorch writes down what is launched inside and outside of captured
# graphs. Skipped (77) without python3.
set -euo pipefail
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 python3 - "$2/calibrate/framework_operators.py" <<'EOF'
import argparse
import importlib.util
import sys
import types

launched, within = [], []  # (graph or None, what); graphs being captured


class Tensor:
    def transpose(self, *_):
        return self

    def requires_grad_(self):
        return self


class Event:
    def __init__(self, **_):
        pass

    def record(self):
        pass

    def elapsed_time(self, _):
        return 0.02


class Graph:
    def __init__(self):
        self.replays = 0

    def replay(self):
        self.replays += 1
        self.launched_before = len(launched)

    def pool(self):
        return self


class Capture:
    def __init__(self, graph, pool=None, stream=None):
        self.graph, graph.shared, graph.stream = graph, pool, stream

    def __enter__(self):
        within.append(self.graph)

    def __exit__(self, *_):
        within.pop()


class Stream:
    def wait_stream(self, _):
        pass

    def __enter__(self):
        Stream.current = self

    def __exit__(self, *_):
        Stream.current = None


def launch(what):
    launched.append((within[-1] if within else None, what, Stream.current))
    return Tensor()


torch, nn, functional = (types.ModuleType(n) for n in ("torch", "torch.nn", "torch.nn.functional"))
torch.nn, nn.functional, nn.Module = nn, functional, object
torch.bfloat16, torch.randn = "bf16", lambda *_, **__: Tensor()
functional.scaled_dot_product_attention = lambda *_, **__: launch("forward")
torch.autograd = types.SimpleNamespace(grad=lambda *_, **__: launch("backward"))
torch.cuda = types.SimpleNamespace(
    mem_get_info=lambda: (1e11, 1e11), Stream=Stream, current_stream=Stream, Event=Event, CUDAGraph=Graph,
    stream=lambda s: s, synchronize=lambda: None, graph=Capture, empty_cache=lambda: None)
sys.modules.update({"torch": torch, "torch.nn": nn, "torch.nn.functional": functional})

spec = importlib.util.spec_from_file_location("framework_operators", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
program.ARGS = argparse.Namespace(budget=1e9, seconds_a_point=0.0)
program.L2_BYTES = 60e6
program.attention_points([(1, 12, 12, 1024, 64, True, False)])

assert [p["op"] for p in program.POINTS] == ["attention", "attention_backward"], program.POINTS
timed = [g for g in {id(g): g for g, _, _ in launched if g}.values() if g.replays > 5]
assert len(timed) == 2, timed
for graph, what in zip(timed, ("forward", "backward")):
    inside = [w for g, w, _ in launched if g is graph]
    assert set(inside) == {what}, inside
    assert len(inside) >= 5, inside
    # A point is the replay's 20 us over the launches in it.
    point = program.POINTS[timed.index(graph)]
    assert abs(point["median_us"] - 20 / len(inside)) < 1e-3, point
# The forward that saved the backward's inputs has run, once, in a graph whose memory the timed one shares.
saving = timed[1].shared
assert saving.replays == 1 and {w for g, w, _ in launched if g is saving} == {"forward"}
# Autograd runs a backward on its forward's stream: no launch on any other.
assert len({id(s) for _, _, s in launched}) == 1 and all(g.stream is launched[0][2] for g in timed + [saving])
EOF
