#include <fstream>

#include "model/io/logs/log_fields.h"
#include "model/io/logs/log_lines.h"
#include "model/io/logs/read_log.h"
#include "model/steady_window.h"
#include "tests/catch2.h"
#include "tests/model/io/step_log_samples.h"
#include "tests/model/message_of.h"

using namespace stepsight;

namespace {

double steady(std::string_view text) {
  return steady_window(read_step_log_text("run.log", text).steps).value().step_seconds;
}

bool mentions(const std::vector<std::string>& notes, std::string_view words) {
  for (const std::string& note : notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every trainer's log is recognised by what stands in it") {
  for (const samples::Sample& sample : samples::all) {
    CAPTURE(sample.text);
    const StepLog log = read_step_log_text("run.log", sample.text);
    CHECK(log.format == sample.name);
    CHECK_FALSE(log.steps.empty());
  }
}

TEST_CASE("a step takes what the trainer's own line says, warm-up left out") {
  CHECK(steady(samples::hf_trainer) == Approx(7.02).epsilon(0.001));
  CHECK(steady(samples::lightning) == Approx(3.0).epsilon(0.001));
  CHECK(steady(samples::lightning_profile) == Approx(0.22559));
  CHECK(steady(samples::megatron) == Approx(5.3616).epsilon(0.002));
  CHECK(steady(samples::megatron_deepspeed) == Approx(105.2).epsilon(0.001));  // seconds, not ms
  CHECK(steady(samples::nemo) == Approx(7.14).epsilon(0.01));
  CHECK(steady(samples::nanotron) == Approx(1.2).epsilon(0.01));
  CHECK(steady(samples::nanogpt) == Approx(0.5615).epsilon(0.002));
  CHECK(steady(samples::llm_c) == Approx(0.1734).epsilon(0.01));
  CHECK(steady(samples::modded) == Approx(0.449).epsilon(0.001));  // 56.125 s / 125
  CHECK(steady(samples::nanochat) == Approx(0.7018).epsilon(0.002));
  CHECK(steady(samples::litgpt) == Approx(0.5477).epsilon(0.003));
  CHECK(steady(samples::torchtitan) == Approx(1.422).epsilon(0.001));  // 14.22 s / 10
  CHECK(steady(samples::fairseq) == Approx(2.5).epsilon(0.03));
  CHECK(steady(samples::composer) == Approx(1 / 0.21).epsilon(0.05));
  CHECK(steady(samples::deepspeed) == Approx(2.58).epsilon(0.001));  // 25.8 s / 10
  CHECK(steady(samples::mmengine) == Approx(1.2).epsilon(0.01));
  CHECK(steady(samples::mmcv) == Approx(0.376).epsilon(0.01));
  CHECK(steady(samples::detectron2) == Approx(0.3645).epsilon(0.01));
  CHECK(steady(samples::ultralytics) == Approx(0.2825).epsilon(0.01));
  CHECK(steady(samples::imagenet) == Approx(0.252).epsilon(0.01));
  CHECK(steady(samples::timm) == Approx(0.403).epsilon(0.01));
  CHECK(steady(samples::torchvision) == Approx(0.2508).epsilon(0.01));
  CHECK(steady(samples::dllogger) == Approx(0.36).epsilon(0.01));
  CHECK(steady(samples::csv_steps) == Approx(0.2505).epsilon(0.01));
  CHECK(steady(samples::llama_factory) == Approx(6.0).epsilon(0.17));
}

TEST_CASE("Hugging Face's header gives the batches and the number of GPUs") {
  const StepLog log = read_step_log_text("run.log", samples::hf_trainer);
  CHECK(log.facts.gpu_batch == 4);
  CHECK(log.facts.global_batch == 128);
  CHECK(log.facts.accumulation == 4);
  CHECK(log.facts.gpus == 8);  // 128 / (4 * 4)
  CHECK(log.facts.parameters == 7'615'616);
  CHECK(log.run_seconds == Approx(2201.4));
  CHECK(mentions(log.skipped, "ran shorter: 1"));  // the evaluation's
}

TEST_CASE("samples a second that are steps a second are said to be") {
  const StepLog log = read_step_log_text("trainer_state.json", samples::trainer_state);
  CHECK(log.run_steps == 200);
  CHECK(log.steps.front().seconds == Approx(101.9 / 200));
  CHECK_FALSE(log.run_samples_per_s);  // 1.963 = 200 / 101.9
  CHECK(mentions(log.doubts, "equals steps a second"));
}

TEST_CASE("Megatron's arguments and timers are read beside its steps") {
  const StepLog log = read_step_log_text("run.log", samples::megatron);
  CHECK(log.facts.gpus == 16);
  CHECK(log.facts.seq == 4096);
  CHECK(log.facts.gpu_batch == 2);
  CHECK(log.facts.accumulation == 8);  // 128 / (16 / 2 * 2)
  REQUIRE(log.parts.size() == 3);
  CHECK(log.parts[1].name == "all-grads-sync");
  CHECK(log.parts[1].least == Approx(3.01e-3));
  CHECK(log.parts[1].most == Approx(41.87e-3));
  CHECK(log.steps.front().seconds == Approx(25.3616));
}

TEST_CASE("rates say whose they are") {
  const StepLog titan = read_step_log_text("run.log", samples::torchtitan);
  CHECK(titan.rate_scope == RateScope::each_gpu);
  CHECK(titan.steps.front().rate == Approx(5760));
  CHECK(titan.facts.mfu == Approx(0.3373).epsilon(0.001));
  CHECK(mentions(titan.skipped, "further ranks"));
  const StepLog timm = read_step_log_text("run.log", samples::timm);
  CHECK(timm.rate_scope == RateScope::whole_job);
  CHECK(timm.steps.back().rate == Approx(1980.2));
}

TEST_CASE("waiting for data is read where the trainer prints it, of the steady window") {
  const StepLog log = read_step_log_text("run.log", samples::mmengine);
  const auto window = steady_window(log.steps);
  CHECK(window->data_seconds == Approx(0.0282).epsilon(0.02));
  CHECK(log.steps.size() == 2);  // not the validation's line
  CHECK(steady_window(read_step_log_text("run.log", samples::imagenet).steps)->data_seconds ==
        Approx(0.001));
}

TEST_CASE("DeepSpeed's timers give the parts of a step") {
  const StepLog log = read_step_log_text("run.log", samples::deepspeed);
  CHECK(log.facts.global_batch == 32);
  const auto part = std::find_if(log.parts.begin(), log.parts.end(), [](const LoggedPart& p) {
    return p.name == "bwd_allreduce";
  });
  REQUIRE(part != log.parts.end());
  CHECK(part->seconds == Approx(0.6465));
}

TEST_CASE("a table of results gives a row a number of GPUs") {
  const StepLog log = read_step_log_text("results.md", samples::markdown_scaling);
  CHECK(log.format == "Markdown table");
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[1].gpus == 8);
  CHECK(log.rows[1].rate == Approx(7890.5));
  CHECK(log.rows[1].gpu_batch == 256);
}

TEST_CASE("Nsight Systems' summary gives kernels and NCCL's share of them") {
  const StepLog log = read_step_log_text("kern.csv", samples::nsys);
  REQUIRE(log.parts.size() == 2);
  CHECK(log.parts[0].name == "void gemm<float, 4>(int, int)");
  CHECK(log.parts[0].seconds == Approx(300e-6));
  CHECK(log.parts[0].count == 10);
  CHECK(mentions(log.doubts, "25.0 %"));
}

TEST_CASE("two ranks in one file count once") {
  std::string text;
  for (int i = 1; i <= 4; ++i) {
    for (const char* rank : {"[rank0]: ", "[rank1]: "}) {
      text += rank + std::string("iter ") + std::to_string(10 * i) +
              ": loss 9.0, time 500.00ms, mfu 30.12%\n";
    }
  }
  const StepLog log = read_step_log_text("run.log", text);
  CHECK(log.steps.size() == 4);
  CHECK(mentions(log.skipped, "4 lines that repeat a step"));
}

TEST_CASE("a text without steps is refused with the formats that are known") {
  CHECK_THAT(message_of([] { read_step_log_text("run.log", "hello\nworld\n"); }),
             match::ContainsSubstring("run.log: no training steps were found"));
  CHECK_THAT(message_of([] { read_step_log("/no/such/file.log"); }),
             match::ContainsSubstring("cannot be read"));
}

TEST_CASE("a log cut at any byte gives the steps before the cut, or says that it has none") {
  for (const samples::Sample& sample : samples::all) {
    const StepLog whole = read_step_log_text("run.log", sample.text);
    for (std::size_t end = 0; end < sample.text.size(); ++end) {
      const std::string_view text = sample.text.substr(0, end);
      StepLog cut;
      const std::string refusal = message_of([&] { cut = read_step_log_text("run.log", text); });
      if (!refusal.empty()) continue;
      CAPTURE(text);
      // A reader that gives way to another one near the start may have seen a coarser step.
      if (cut.format == whole.format) CHECK(cut.steps.size() <= whole.steps.size());
      for (const LoggedStep& s : cut.steps) {
        if (!(s.seconds > 0 && s.covers > 0)) FAIL("step " << s.index << ": " << s.seconds);
      }
      for (std::size_t i = 0; i + 1 < cut.steps.size() && cut.format == whole.format; ++i) {
        if (cut.steps[i].seconds != whole.steps[i].seconds)
          FAIL("step " << i << " changed by the cut");
      }
    }
  }
}

TEST_CASE("lines longer than any log has are cut, and the next one is whole") {
  std::string text;
  text.resize(longest_log_line * 2, 'x');
  text += "\niter 1: loss 1, time 100.00ms\niter 2: loss 1, time 100.00ms\n";
  const StepLog log = read_step_log_text("run.log", text);
  CHECK(log.steps.size() == 2);
  CHECK(mentions(log.skipped, "64 KiB"));
}

TEST_CASE("a run of any length keeps a bounded number of entries and its mean") {
  std::string text;
  const int steps = 300'000;
  for (int i = 1; i <= steps; ++i) {
    text += "iter " + std::to_string(i) + ": loss 1, time " + (i % 2 == 0 ? "100.00" : "300.00") +
            "ms\n";
  }
  const StepLog log = read_step_log_text("run.log", text);
  CHECK(log.steps.size() <= 1 << 17);
  double seconds = 0;
  std::int64_t covered = 0;
  for (const LoggedStep& s : log.steps) {
    seconds += s.seconds * static_cast<double>(s.covers);
    covered += s.covers;
  }
  CHECK(covered == steps);
  CHECK(seconds / steps == Approx(0.2));
}

TEST_CASE("numbers are read with thousands, decimal commas, units and quotes") {
  CHECK(value_after("tps: 5,762  mfu", "tps") == 5762);
  CHECK(value_after("{'loss': '1.731', 'epoch': 1}", "loss") == 1.731);
  CHECK(value_after("time: 0,402 s", "time") == 0.402);
  CHECK(value_after("data_time: 5 time: 7", "time") == 7);
  CHECK_FALSE(value_after("time: nan", "time"));
  CHECK_FALSE(value_after("time: 1e999", "time"));
  CHECK(seconds_after("time 561.94ms,", "time") == Approx(0.56194));
  CHECK(clock_seconds("1 day, 2:09:41") == 86400 + 2 * 3600 + 9 * 60 + 41);
  CHECK(clock_seconds("04:23") == 263);
  CHECK_FALSE(clock_seconds("4"));
  CHECK(time_stamp("x 2026-01-05 10:11:12,345 y").value() -
            time_stamp("2026/01/05 10:11:10").value() ==
        Approx(2.345));
  CHECK(rank_prefix("[1,15]<stdout>: x") == 15);
  CHECK(rank_prefix("[default7]: x") == 7);
  CHECK_FALSE(rank_prefix("step: 10"));
}
