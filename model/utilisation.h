// Samples of how busy the GPUs of a machine are, sorted into the shapes that tell why several are
// not as fast as they should be.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepsight {

struct GpuSamples {
  std::vector<float> busy;  // percent, in the order of time
  double power_sum = 0;     // W
  std::int64_t power_count = 0;
  double clock_sum = 0;  // MHz, of the multiprocessors
  std::int64_t clock_count = 0;
};

struct UtilisationSamples {
  std::string file;
  std::map<std::int64_t, GpuSamples> gpus;  // by index
  std::vector<std::string> skipped;
};

enum class UtilisationShape : std::uint8_t {
  all_high,  // busy all the time: compute, or NCCL's kernels that spin while they wait
  one_low,   // one card works, another waits or does nothing: DataParallel, a straggler, an idle
             // card
  dips,      // all stop together again and again: the data loader, checkpoints, evaluation
  all_low,   // none is ever busy: the host sets the pace
};

struct UtilisationVerdict {
  UtilisationShape shape = UtilisationShape::all_high;
  std::map<std::int64_t, double> mean;  // percent, by GPU
  std::int64_t busiest = 0;             // index
  std::int64_t idlest = 0;
  double dip_share = 0;             // of the samples in which all are below a third of their usual
  std::optional<double> dip_every;  // samples between dips, from three dips on
  std::optional<std::int64_t>
      slow_clock;                // the slowest card, where its clock is over 10 % below the usual
  double slow_clock_factor = 1;  // its clock over the others'
};

// One low: means 30 points apart and the lower under 60 %. Dips: at least 5 % of the samples lie
// below a third of the median (of the mean over the GPUs), which is at least 60 %. Low: the mean
// over all is under 60 %. Nothing without samples.
std::optional<UtilisationVerdict> judge_utilisation(const UtilisationSamples& samples);

// "all busy all the time", ...
std::string describe(const UtilisationVerdict& verdict);

}  // namespace stepsight
