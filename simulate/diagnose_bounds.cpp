#include "simulate/diagnose_bounds.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "model/collective.h"
#include "model/link_class.h"

namespace stepsight {

namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

double slowest_link_GBps(const DiagnoseQuestion& question) {
  const bool network = question.nodes > 1;
  const auto link =
      parse_link_class(network ? "nvlink4-nvswitch+1x1G-tcp-nogdr" : "pcie3-x1-nop2p");
  const CollectiveGroup group{CollectiveKind::all_reduce, question.gpus, question.nodes};
  return class_parameters(*link, group).busbw_GBps * (1 - link_class_spread);
}

// The most that gradients can be, and whether that is known or a bound.
std::optional<double> gradients(const DiagnoseQuestion& question) {
  if (question.parameters) return *question.parameters * question.gradient_bytes;
  if (question.memory_bytes) return *question.memory_bytes / 4;
  return std::nullopt;
}

std::string missing_fact(const DiagnoseQuestion& question) {
  if (!question.one) return "the step time on one GPU with the same batch (--t1)";
  if (!question.parameters) {
    return "the model (--model), or at least how many parameters are trained (--params): they are "
           "what is "
           "exchanged";
  }
  return "card and link (--gpu, --link): `nvidia-smi topo -m` names the link";
}

// What was measured beside the steps and accounts for most of what is missing.
std::string evident_cause(const DiagnoseQuestion& question, double more) {
  const Evidence& e = question.evidence;
  if (e.data_n && *e.data_n - e.data_one.value_or(0) > 0.5 * more)
    return "the step waits for the data loader";
  if (e.rank_spread && question.n * (1 - 1 / *e.rank_spread) > 0.5 * more) {
    return "one card is slower, and all wait for it";
  }
  const auto& busy = e.utilisation;
  if (busy && busy->slow_clock && question.n * (1 - busy->slow_clock_factor) > 0.5 * more) {
    return "GPU " + std::to_string(*busy->slow_clock) + " runs at " +
           std::to_string(std::lround(100 * busy->slow_clock_factor)) +
           " % of the others' clock, and all wait for it";
  }
  if (e.data_parallel) {
    return "one process drives all GPUs (DataParallel): it copies weights and gradients in every "
           "step and issues "
           "for all of them";
  }
  if (e.stall_share && *e.stall_share * question.n > 0.5 * more)
    return "checkpoints or evaluation stop all cards";
  return "";
}

void judge_slow(const DiagnoseQuestion& question, Diagnosis& out) {
  const double ideal =
      *question.one / (question.same_work ? static_cast<double>(question.gpus) : 1.0);
  const double more = question.n - ideal;
  out.gap = more;
  if (const std::string cause = evident_cause(question, more); !cause.empty()) {
    out.verdict = Verdict::explained;
    out.headline = cause;
    return;
  }
  const auto bytes = gradients(question);
  if (!bytes || more <= 0) {
    out.headline =
        out.efficiency < poor_efficiency
            ? "not sound (under 60 % of N times one), and nothing says yet whether a link can make "
              "it so"
            : "less than N times one, as many links make it; the model's size would tell which";
    return;
  }
  out.implied_GBps =
      *bytes * traffic_factor(CollectiveKind::all_reduce, question.gpus) / more / 1e9;
  const double slowest = slowest_link_GBps(question);
  const std::string rate = number(*out.implied_GBps) + " GB/s";
  const bool known = question.parameters && !question.relative;
  const double slow_for_it = question.link_GBps ? *question.link_GBps * (1 - link_class_spread) : 0;
  if (*out.implied_GBps < slowest) {
    out.verdict = Verdict::unexplained;
    out.headline =
        std::string("the step grew so much that ") +
        (question.parameters ? "gradients" : "even the largest gradients that fit the card") +
        " would travel at " + rate + ": slower than any link";
  } else if (known && *out.implied_GBps < slow_for_it) {
    out.verdict = Verdict::explained;
    out.headline =
        "gradients would travel at " + rate + " where this link gives " +
        number(*question.link_GBps) +
        ": a slower path than it should be (no P2P, a narrow slot, TCP), or no link at all";
  } else if (known) {
    out.verdict = Verdict::explained;
    out.headline = "a link that carries " + rate + ", with nothing hidden, makes it so";
  } else {
    out.headline = "a link of at most " + rate + " would make it so; slower if the " +
                   (question.relative ? "batch is larger" : "model is smaller");
  }
}

}  // namespace

void measure_speedup(const DiagnoseQuestion& question, Diagnosis& out) {
  if (!question.one) return;
  const double work = question.same_work ? 1 : static_cast<double>(question.gpus);
  out.speedup = work * *question.one / question.n;
  out.efficiency = out.speedup / static_cast<double>(question.gpus);
}

std::vector<std::string> contradictions(const DiagnoseQuestion& question,
                                        const Diagnosis& measured,
                                        bool faster_expected) {
  std::vector<std::string> out;
  const Evidence& e = question.evidence;
  const auto longer = [&](const std::optional<double>& part, double whole, const char* name) {
    if (part && *part > 1.02 * whole) {
      out.push_back(std::string(name) + " takes " + number(*part) + " s of a step of " +
                    number(whole) + " s: a part cannot be longer than the whole");
    }
  };
  longer(e.communication, question.n, "communication");
  if (question.one) longer(e.divided, *question.one, "what N GPUs share out");
  longer(e.data_n, question.n, "waiting for data on N GPUs");
  if (question.one) longer(e.data_one, *question.one, "waiting for data on one GPU");
  const double shared = question.one && e.divided ? *e.divided / *question.one : 0;
  const double most = 1.05 / (1 - shared * (1 - 1 / static_cast<double>(question.gpus)));
  if (measured.efficiency > most && !faster_expected) {
    out.push_back(
        "more than N times one: the rate is from too short a run, the one-GPU step is from other "
        "hardware or has warm-up in it, or steps are counted as samples");
  }
  return out;
}

Diagnosis diagnose_bounds(const DiagnoseQuestion& question) {
  Diagnosis out;
  measure_speedup(question, out);
  out.traps = contradictions(question, out, false);
  out.ask = missing_fact(question);
  if (!out.traps.empty()) {
    out.verdict = Verdict::unexplained;
    out.headline = "the figures contradict each other";
    out.to_do = {
        "measure both again: steady steps without warm-up and validation, the same batch of each "
        "card"};
    return out;
  }
  if (!question.one) {
    out.headline = "one step time alone says nothing of scaling";
    return out;
  }
  const Evidence& e = question.evidence;
  const double share = e.communication ? *e.communication / question.n : 0;
  out.communication_share = share;
  if (out.efficiency >= sound_efficiency && share < sound_share) {
    out.verdict = Verdict::healthy;
    out.headline = "sound by the rule of thumb: over 85 % of N times one";
    return out;
  }
  judge_slow(question, out);
  if (e.communication && share > poor_share && out.verdict == Verdict::unknown) {
    out.verdict = Verdict::explained;
    out.headline = "communication takes over 30 % of the step";
  }
  out.to_do = {
      "run nccl-tests: `all_reduce_perf -b 1M -e 1G -f 2 -g N`, then `stepsight show link NAME "
      "--against LOG`",
      "run with NCCL_DEBUG=INFO: \"via SHM\" means no P2P, \"NET/Socket\" TCP",
      "train on one batch kept in memory: if the gap goes, it was the data loader"};
  return out;
}

}  // namespace stepsight
