"""The parts of the training runs that need no GPU: what is run, how it is written down, how profiles are read."""
import csv
import io
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import train_matrix as m  # noqa: E402
import train_runs  # noqa: E402

FACTS = {"source": "s", "gpu": "H200-SXM", "std_gpu": "h200-sxm", "link": "NV18", "std_intra": "nvswitch", "how": "h"}


class Models(unittest.TestCase):
    def test_parameters_are_those_of_the_own_runs_and_of_the_published_shapes(self):
        # From own_h200_runs.csv; Llama 3.2 3B as published has 3,212,749,824 with its head tied.
        self.assertEqual(m.MODELS["gpt2-124m"].parameters, 124475904)
        self.assertEqual(m.MODELS["gpt2-774m"].parameters, 774090240)
        self.assertEqual(m.MODELS["llama-1b"].parameters, 1498482688)
        self.assertEqual(m.MODELS["llama2-7b"].parameters, 6738415616)
        self.assertEqual(m.MODELS["llama-3b"].parameters - 128256 * 3072, 3212749824)


class Matrix(unittest.TestCase):
    def test_ids_are_unique_and_every_run_uses_as_many_gpus_as_the_machine_has_or_fewer(self):
        for n in (1, 2, 3, 4, 8):
            runs = m.matrix(n)
            self.assertEqual(len({r.id for r in runs}), len(runs))
            self.assertEqual({r.gpus for r in runs}, set(m.world_sizes(n)))
            self.assertLessEqual(max(r.gpus for r in runs), n)

    def test_four_runs_on_all_gpus_leave_a_trace(self):
        self.assertEqual(sum(r.trace for r in m.matrix(2)), 4)

    def test_every_parallel_run_has_its_work_on_one_gpu_too(self):
        one = {(r.model, r.batch, r.accum, r.precision, r.compile) for r in m.matrix(2) if r.gpus == 1}
        for r in m.matrix(2):
            if r.gpus == 2 and r.strategy == "ddp":
                self.assertIn((r.model, r.batch, r.accum, r.precision, r.compile), one, r)

    def test_llama_with_its_projections_apart_has_ids_and_words_of_its_own(self):
        runs = m.matrix(2, apart=True)
        self.assertEqual(len({r.id for r in runs} | {r.id for r in m.matrix(2)}), len(runs) + len(m.matrix(2)))
        one = {(r.model, r.batch) for r in runs if r.gpus == 1}
        for r in runs:
            self.assertIn("RoPE, projections apart", m.row(r, m.MODELS[r.model], FACTS)["family"])
            if r.gpus == 2 and r.strategy == "ddp":
                self.assertIn((r.model, r.batch), one, r)
        self.assertEqual({r.gpus for r in m.matrix(1, apart=True)}, {1})

    def test_one_strong_scaling_pair_a_model_at_least(self):
        runs = m.matrix(2)
        for name in ("gpt2-124m", "gpt2-774m", "llama-1b", "llama2-7b", "llama-3b"):
            alone = {r.batch * r.accum for r in runs if r.model == name and r.gpus == 1}
            both = {2 * r.batch * r.accum for r in runs if r.model == name and r.gpus == 2 and r.strategy == "ddp"}
            self.assertTrue(alone & both, name)

    def test_a_run_is_estimated_longer_with_more_work(self):
        shape = m.MODELS["llama-1b"]
        short = m.estimated_seconds(m.ddp(2, "llama-1b", 1), shape)
        self.assertLess(short, m.estimated_seconds(m.ddp(2, "llama-1b", 8), shape))
        self.assertLess(short, m.estimated_seconds(m.ddp(2, "llama-1b", 1, compile=True), shape))


class Rows(unittest.TestCase):
    def test_a_row_says_what_was_run_in_the_words_that_the_reader_knows(self):
        run = m.Run("llama-1b", 2, 4, "ddp", accum=2, precision="amp", bucket_mb=5, id="X1")
        row = m.row(run, m.MODELS["llama-1b"], FACTS, {"step_s": 0.125, "notes": "n, with comma", "flag": ""})
        back = next(csv.DictReader(io.StringIO(m.HEADER + m.row_line(row))))
        self.assertEqual(back["step_time_s"], "0.125")
        self.assertEqual(back["value"], "125")
        self.assertEqual(back["global_batch"], "16")
        self.assertEqual(back["std_grad_bytes"], "4")
        self.assertIn("autocast", back["precision"])
        self.assertIn("bucket_cap_mb=5, first_bucket_mb=5", back["sharding"])
        self.assertEqual(back["std_intra"], "nvswitch")
        self.assertEqual(back["notes"], "n, with comma")

    def test_one_rank_under_the_wrapper_is_told_from_none(self):
        wrapped = m.row(m.ddp(1, "gpt2-124m", 8), m.MODELS["gpt2-124m"], FACTS)
        self.assertIn("DDP wrapper", wrapped["sharding"])
        self.assertEqual(m.row(m.Run("gpt2-124m", 1, 8), m.MODELS["gpt2-124m"], FACTS)["sharding"], "none")
        self.assertEqual(wrapped["std_intra"], "")

    def test_lines_are_appended_under_one_header_and_found_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "runs.csv")
            self.assertEqual(m.ids_in(path), set())
            for name in ("A", "B"):
                run = m.Run("gpt2-124m", 1, 8, id=name)
                row = m.row(run, m.MODELS["gpt2-124m"], FACTS, {"step_s": 0.02})
                train_runs.append_line(path, m.row_line(row))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read().count("step_time_s"), 1)
            self.assertEqual(m.ids_in(path), {"A", "B"})


def step(start, compute, wire, optimizer):
    """Activities of a step in us: compute from the start on, a collective, and an optimizer of two kernels."""
    return [("gemm", start, start + compute), ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", *wire),
            ("multi_tensor<FusedAdamMathFunctor>", optimizer, optimizer + 10),
            ("multi_tensor<FusedAdamMathFunctor>", optimizer + 10, optimizer + 20)]


class Communication(unittest.TestCase):
    def test_exposed_is_what_runs_beside_no_other_kernel(self):
        # Step 2 begins at 1000: compute to 1600, the wire from 1400 to 1900, the optimizer 1900 to 1920.
        # Step 3 the same from 2000 on.
        acts = step(0, 600, (400, 900), 980) + step(1000, 600, (1400, 1900), 1980) + step(2000, 600, (2400, 2900), 2980)
        found = m.communication_of(acts, 3)
        self.assertAlmostEqual(found["communication"], 0.5)
        self.assertAlmostEqual(found["exposed"], 0.3)
        self.assertAlmostEqual(found["compute"], 0.62)
        self.assertAlmostEqual(found["step"], 1.0)

    def test_two_kernels_on_two_streams_count_once(self):
        acts = []
        for begin in (0, 1000, 2000):
            acts += step(begin, 600, (begin + 500, begin + 700), begin + 980)
            acts.append(("ncclDevKernel_AllGather", begin + 600, begin + 800))
            acts.append(("copy", begin + 550, begin + 650))
        found = m.communication_of(acts, 3)
        self.assertAlmostEqual(found["communication"], 0.3)
        self.assertAlmostEqual(found["exposed"], 0.15)

    def test_steps_that_cannot_be_told_apart_give_nothing(self):
        self.assertEqual(m.communication_of(step(0, 600, (400, 900), 980), 3), {})
        self.assertEqual(m.communication_of([], 3), {})

    def test_activities_are_kernels_copies_and_fills_of_a_chrome_trace(self):
        text = json.dumps({"traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "k", "ts": 10.5, "dur": 2},
            {"ph": "X", "cat": "gpu_memset", "name": "Memset", "ts": 20, "dur": 1},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1, "dur": 1},
            {"ph": "i", "cat": "kernel", "name": "not a span", "ts": 1}]})
        self.assertEqual(m.activities_of(json.loads(text)), [("k", 10.5, 12.5), ("Memset", 20.0, 21.0)])


class Choosing(unittest.TestCase):
    def test_a_run_that_no_longer_fits_is_left_out_and_a_shorter_one_is_taken(self):
        import threading
        import time
        runs = [m.ddp(2, "llama-1b", 4, compile=True), m.ddp(2, "gpt2-124m", 1)]
        states = [train_runs.TODO] * 2
        deadline = time.time() + 20
        taken = train_runs.pick(runs, states, m.MODELS, deadline, threading.Lock())
        self.assertEqual(taken, 1)
        self.assertEqual(states, [train_runs.LEFT_OUT, train_runs.TAKEN])
        self.assertEqual(train_runs.pick(runs, states, m.MODELS, deadline, threading.Lock()), -1)


if __name__ == "__main__":
    unittest.main()
