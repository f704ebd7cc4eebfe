// How much compute and communication slow each other, from points of one beside the other.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "model/measurements.h"

namespace stepsight {

struct OverlapRate {
  double value = 1;                  // relative to alone
  double sd = 0;                     // over sizes, kinds of collective and shapes of product
  std::vector<OverlapPoint> points;  // that it rests on
};

// The rate that the overlap parameter of this name (model/parameters.h) stands for; nullopt without
// points.
// Compute beside a collective: the median over kinds of collective and shapes of product, each with
// its largest message, beside which the collective's kernel waits least and runs almost all the
// time; points of fixed channels count only where the library's own choice was not measured. A
// product whose name says its sizes counts with the rate that one of usual_rounds would have
// (model/rounds.h). A collective beside compute: each of its kernels first waits for
// multiprocessors, about as long as a kernel of the compute runs, whatever the message. So the rate
// is that of a further byte: one over the slope of the time beside over the time alone, along the
// sizes of one collective. One size alone gives its own rate.
std::optional<OverlapRate> fit_overlap_rate(const std::vector<OverlapPoint>& points,
                                            std::string_view parameter,
                                            int multiprocessors);

}  // namespace stepsight
