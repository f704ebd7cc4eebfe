// Is a measured run on N GPUs as fast as it should be, and if not, what explains the difference?
// What should be is predicted and scaled to the person's own step on one GPU; each hypothesis is
// simulated.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/profile.h"
#include "model/scenario.h"
#include "model/utilisation.h"
#include "simulate/uncertainty.h"

namespace stepsight {

// What a person knows beside the times of steps. All in seconds of a step on N GPUs unless said.
struct Evidence {
  std::optional<double> data_one;  // waiting for data on one GPU
  std::optional<double> data_n;    // ... and on N
  std::optional<double>
      communication;  // communication that nothing hides, as a profiler or timers say
  std::optional<double>
      divided;  // of one GPU's step: what N share out (a sharded optimizer's update)
  std::optional<double> rank_spread;  // slowest rank over fastest, as timers over ranks say
  std::optional<double> stall_share;  // of the time on N GPUs, beyond steady steps
  std::optional<UtilisationVerdict> utilisation;
  bool host_memory = false;  // NCCL's log says SHM and no P2P
  bool sockets = false;      // ... or NET/Socket
  bool no_gpudirect = false;
  bool data_parallel = false;  // one process drives all GPUs (torch.nn.DataParallel)
};

struct DiagnoseQuestion {
  // On N GPUs, complete with model, card and link; nothing when one of them is not known.
  std::optional<Scenario> scenario;
  std::int64_t gpus = 0;  // N; at least 2
  std::int64_t nodes = 1;
  std::optional<double> one;  // step on one GPU
  double n = 0;               // step on N
  bool same_work = false;     // N GPUs share one GPU's step (strong scaling); else each does it all
  // Where the scenario is not known.
  std::optional<double> parameters;    // trained
  double gradient_bytes = 4;           // of each, on the link
  std::optional<double> memory_bytes;  // of a card: bounds the gradients
  std::optional<double> link_GBps;     // bus bandwidth that the link should have
  bool relative = false;  // only rates are known: `one` and `n` are as for a batch of 1, at least
  Evidence evidence;
};

enum class Verdict : std::uint8_t {
  healthy,      // as fast as this machine lets it be, and N cards pay
  explained,    // slower than N times one, and something known makes it so
  unexplained,  // no link and no known cause makes it so: a broken path, or the measurement
  unknown,      // too few facts
};

enum class Cause : std::uint8_t { link, framework, host, loader, rank, stall, measurement };

struct Hypothesis {
  Cause cause = Cause::link;
  std::string name;
  std::string action;      // what to do first if it is so
  Quantiles step;          // on N GPUs, if it were so
  double explains = 0;     // of the gap between expected and measured; may exceed 1
  bool fits = false;       // the measured step lies in its interval
  bool supported = false;  // evidence speaks for it
};

struct Diagnosis {
  Verdict verdict = Verdict::unknown;
  std::string headline;  // one sentence
  double speedup = 0;    // measured, over one GPU; 0 when one was not measured
  double efficiency = 0;
  std::optional<Quantiles> expected;      // step on N
  std::optional<Quantiles> expected_one;  // step on one, predicted
  std::optional<Quantiles> expected_speedup;
  double communication_share = 0;      // of the expected step: exposed
  double gap = 0;                      // measured - expected, s
  std::optional<double> implied_GBps;  // bus bandwidth, if the whole difference were gradients
  std::vector<Hypothesis> hypotheses;  // those that fit best first
  std::vector<std::string> traps;      // how the figures may be misread
  std::vector<std::string> to_do;      // three at most
  std::string ask;                     // the fact that would tell most; empty when none is missing
};

// The seed's rule, for two cards a speed-up of 1.7 and 1.2: efficiencies of 85 % and 60 %; shares
// of communication of 15 % and 30 %.
inline constexpr double sound_efficiency = 0.85;
inline constexpr double poor_efficiency = 0.6;
inline constexpr double sound_share = 0.15;
inline constexpr double poor_share = 0.3;

// `gpu` belongs to the scenario; may be null without one. Preconditions: gpus >= 2, n > 0, one > 0.
// UserError for a link that is not known.
Diagnosis diagnose(const DiagnoseQuestion& question,
                   const GpuProfile* gpu,
                   const ModelError& error);

// "healthy", "explained", "cannot be explained by any link: broken path or measurement", "too few
// facts"
std::string_view describe(Verdict verdict);
// "healthy", "explained", "unexplained", "unknown"
std::string_view name_of(Verdict verdict);
std::string_view name_of(Cause cause);

}  // namespace stepsight
