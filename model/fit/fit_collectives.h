// Sweeps of collectives to curves: one for each collective and group size of a link.
#pragma once
#include <string>
#include <vector>

#include "model/fit/fit_profile.h"
#include "model/link_curve.h"
#include "model/measurements.h"
#include "model/point_row.h"
#include "model/profile.h"

namespace stepsight {

// Takes the host's part and the copies of lists out of sweeps that PyTorch timed from the host, on
// cards whose memory has that rate by its data sheet. Messages of which too little is left are
// dropped, and `skipped` says how many. UserError where that is all of them.
void take_host_out(Measurements& measurements, double memory_GBps);

struct FittedCurves {
  std::vector<CollectiveCurve> curves;  // by kind, then by ranks
  std::vector<FitQuality> quality;      // of each curve: "LINK.all_reduce.8"
  std::vector<std::vector<double>>
      held_out_errors;  // of each curve, of its sizes that were held out
  std::vector<ParameterRecord>
      records;  // of each parameter: "collective.LINK.all_reduce.8.busbw_GBps"
};

// Appends the points of every curve to `rows`. UserError when there are sweeps and no name for
// their link; nothing when there are no sweeps. One rank alone says nothing and is left out.
FittedCurves fit_collectives(const Measurements& measurements,
                             const std::string& link,
                             std::vector<PointRow>& rows);

// What a person says of the machines that sweeps were made on.
struct LinkDescription {
  std::string name;
  std::string title;
  std::string link_class;  // model/link_class.h
  std::int64_t gpus_per_node = 8;
};

struct FittedLink {
  MeasuredLink link;
  std::vector<ParameterRecord> records;
  std::vector<PointRow> points;
};

// The sweeps of one class of machine, whatever the card. UserError when the class is none, or when
// the measurements hold no collective.
FittedLink fit_link(const Measurements& measurements, const LinkDescription& description);

}  // namespace stepsight
