#include "simulate/diagnose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "model/link_class.h"
#include "simulate/diagnose_bounds.h"
#include "simulate/hypotheses.h"

namespace stepsight {

namespace {

std::string percent(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

bool within(double value, const Quantiles& q) {
  return value >= q.p5 && value <= q.p95;
}

void note_one(const DiagnoseQuestion& question, const Expectation& expected, Diagnosis& out) {
  out.expected_one = expected.one().step;
  if (!question.one || within(*question.one, *out.expected_one)) return;
  const bool slower = *question.one > out.expected_one->p95;
  out.traps.push_back(
      slower
          ? "one GPU alone is already slower than expected: its host, loader, clocks or an unfused "
            "model cost time that no link can give back"
          : "one GPU alone is faster than expected: is it the same batch, sequence and number "
            "format, and "
            "does the time hold a whole step with its update?");
}

// What makes the expected step itself slower than N times one.
std::string expected_cause(const DiagnoseQuestion& question, const Expectation& expected) {
  const Prediction& p = expected.prediction();
  const double exposed = p.exposed_s / p.step.value;
  if (p.host_bound) return "the host's issue sets the pace, and more cards do not hasten it";
  if (exposed >= 0.1)
    return "communication that nothing hides takes " + percent(exposed) + " of the step";
  if (question.same_work) return "each card has too little of one card's step to be busy";
  const double slow = (p.attribution.slow_down + p.attribution.bucket_copies) / p.step.value;
  if (slow >= 0.05)
    return "bucket copies, and compute beside communication, take " + percent(slow) +
           " of the step";
  return "small parts of communication and copies add up";
}

void judge_expected(const DiagnoseQuestion& question, const Expectation& expected, Diagnosis& out) {
  const double efficiency = out.efficiency > 0
                                ? out.efficiency
                                : expected.speedup().p50 / static_cast<double>(question.gpus);
  if (question.n < out.expected->p5)
    out.traps.emplace_back("faster than expected: nothing to mend");
  if (efficiency >= sound_efficiency) {
    out.verdict = Verdict::healthy;
    out.headline = "as fast as expected, and sound: " + percent(efficiency) + " of N times one";
    return;
  }
  out.verdict = Verdict::explained;
  out.headline = "as fast as this machine lets it be (" + percent(efficiency) +
                 " of N times one): " + expected_cause(question, expected);
}

void judge_slow(const DiagnoseQuestion& question, Diagnosis& out) {
  const auto& all = out.hypotheses;
  const bool evident =
      std::ranges::any_of(all, [](const Hypothesis& h) { return h.fits && h.supported; });
  if (out.efficiency >= sound_efficiency && out.communication_share < sound_share && !evident) {
    out.verdict = Verdict::healthy;
    out.headline = "sound (" + percent(out.efficiency) + " of N times one), though " +
                   percent(out.gap / out.expected->p50) + " slower than expected";
    return;
  }
  const bool fits = !all.empty() && all.front().fits;
  const bool bracketed = std::ranges::any_of(
      all, [&](const Hypothesis& h) { return h.cause == Cause::link && h.step.p95 >= question.n; });
  if (fits) {
    out.verdict = Verdict::explained;
    out.headline =
        std::string(all.front().supported ? "" : "would be explained by: ") + all.front().name;
  } else if (bracketed) {
    out.verdict = Verdict::explained;
    out.headline = "a link slower than it should be would explain it";
  } else {
    out.verdict = Verdict::unexplained;
    out.headline = "slower than with any fault of the link that is known";
  }
}

void settle_to_do(const DiagnoseQuestion& question, Diagnosis& out) {
  const auto add = [&](const std::string& action) {
    const bool known = std::ranges::find(out.to_do, action) != out.to_do.end();
    if (out.to_do.size() < 3 && !action.empty() && !known) out.to_do.push_back(action);
  };
  if (out.verdict == Verdict::healthy) return;
  const bool as_expected = out.expected && question.n <= out.expected->p95;
  if (!as_expected) {
    for (const Hypothesis& h : out.hypotheses) {
      if (h.fits) add(h.action);
    }
  }
  if (out.verdict == Verdict::unexplained) {
    add("`p2pBandwidthLatencyTest`, then once with NCCL_P2P_DISABLE=1: a path that is there but "
        "broken (IOMMU, "
        "ACS) is faster without P2P");
    add("measure both again: steady steps without warm-up and validation, the same batch of each "
        "card");
  }
  if (as_expected) {
    add("larger batches or more accumulation: the same gradients for more work");
    if (question.scenario->parallel.strategy == Strategy::ddp &&
        question.scenario->parallel.overlap) {
      add("fewer bytes: bf16 gradients (DDP's bf16_compress_hook)");
    }
    add("`stepsight predict` with a faster --link: what another link would bring");
    return;
  }
  add("nccl-tests: `all_reduce_perf -b 1M -e 1G -f 2 -g N`, then `stepsight show link NAME "
      "--against LOG`");
  add("train on one batch kept in memory: if the gap goes, it was the data loader");
}

// Between hypotheses that fit, the fact that tells them apart.
void settle_question(const DiagnoseQuestion& question, Diagnosis& out) {
  if (!question.one) {
    out.ask = "the step time on one GPU with the same batch (--t1)";
    return;
  }
  if (out.verdict == Verdict::healthy || (out.expected && question.n <= out.expected->p95)) return;
  const auto fits = [&](Cause cause) {
    return std::ranges::any_of(out.hypotheses,
                               [cause](const Hypothesis& h) { return h.fits && h.cause == cause; });
  };
  const Evidence& e = question.evidence;
  if (fits(Cause::loader) && !e.data_n) {
    out.ask = "how long a step waits for data (--data-time, or a log that prints data_time)";
  } else if (fits(Cause::link) && !e.host_memory && !e.sockets) {
    out.ask = "which transports NCCL took (--nccl-log: what NCCL_DEBUG=INFO prints)";
  } else if (fits(Cause::framework) && !e.utilisation) {
    out.ask = "how busy each card is (--utilisation: what `nvidia-smi dmon` prints)";
  }
}

}  // namespace

Diagnosis diagnose(const DiagnoseQuestion& question,
                   const GpuProfile* gpu,
                   const ModelError& error) {
  if (!question.scenario || gpu == nullptr) return diagnose_bounds(question);
  Diagnosis out;
  measure_speedup(question, out);
  const Expectation expected(question, *gpu, error);
  out.expected = expected.step();
  out.expected_speedup = expected.speedup();
  out.communication_share = expected.prediction().exposed_s / expected.prediction().step.value;
  out.gap = question.n - out.expected->p50;
  note_one(question, expected, out);
  const double most = 1.05 * static_cast<double>(question.gpus);
  const auto wrong = contradictions(question, out, out.expected_speedup->p95 > most);
  if (!wrong.empty()) {
    out.verdict = Verdict::unexplained;
    out.headline = "the figures contradict each other";
    out.traps.insert(out.traps.begin(), wrong.begin(), wrong.end());
    out.to_do = {
        "measure both again: steady steps without warm-up and validation, the same batch of each "
        "card"};
    return out;
  }
  if (question.n <= out.expected->p95) {
    judge_expected(question, expected, out);
  } else {
    out.hypotheses = hypotheses(question, expected);
    judge_slow(question, out);
    const double bytes = expected.prediction().message_bytes;
    if (bytes > 0 && out.gap > 0) {
      out.implied_GBps = bytes * traffic_factor(CollectiveKind::all_reduce, question.gpus) /
                         (out.gap + expected.prediction().exposed_s) / 1e9;
    }
  }
  settle_to_do(question, out);
  settle_question(question, out);
  return out;
}

std::string_view describe(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return "healthy";
    case Verdict::explained:
      return "explained";
    case Verdict::unexplained:
      return "cannot be explained by any link: broken path or measurement";
    case Verdict::unknown:
      break;
  }
  return "too few facts";
}

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 4> names{"healthy", "explained", "unexplained", "unknown"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string_view name_of(Cause cause) {
  constexpr std::array<std::string_view, 7> names{
      "link", "framework", "host", "loader", "rank", "stall", "measurement"};
  return names[static_cast<std::size_t>(cause)];
}

}  // namespace stepsight
