// What is known of one GPU: vendor figures, fitted parameters with their uncertainty and source,
// and the measured points that lie over the formulas. Read and written by model/io/profile_file.h.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "model/collective.h"
#include "model/cost.h"
#include "model/dtype.h"
#include "model/measured_surface.h"
#include "model/operators.h"
#include "model/parameters.h"

namespace stepsight {

// Where one number comes from and how sure it is.
struct ParameterRecord {
  std::string name;  // "gemm.bf16.peak_TFLOPS"
  double value = 0;
  double sd = 0;       // standard deviation, same unit
  int points = 0;      // measurements behind it; 0: a class value
  std::string source;  // measurement files, or "class value"
};

// How well a group of parameters reproduces the points it was fitted to and those held out.
struct FitQuality {
  std::string group;  // "gemm.bf16"
  int fitted_points = 0;
  int held_out_points = 0;
  double fitted_median_error = 0;    // of |predicted / measured - 1|
  double held_out_median_error = 0;  // of the final prediction, points and all
  double held_out_p90_error = 0;
};

struct GpuProfile {
  std::string name;
  std::string title;
  std::string like;  // measured card whose utilisation stands in where this one's is not known
  std::string driver_name;  // as the driver calls the card; empty where not known
  int multiprocessors = 0;
  double memory_bytes = 0;
  double l2_bytes = 0;
  double hbm_TBps = 0;   // vendor's figure
  double pcie_GBps = 0;  // one direction, vendor's figure; 0 = not known
  double power_W = 0;    // the card's limit; 0 = not known, never reached
  std::array<double, dtypes.size()> vendor_TFLOPS{};  // dense, for MFU; 0 = not offered

  std::array<GemmParameters<double>, dtypes.size()> gemm{};
  std::array<MeasuredSurface, dtypes.size()> gemm_points;
  std::array<AttentionParameters<double>, 2> attention{};  // forward, backward
  std::array<MeasuredSurface, 2> attention_points;
  std::array<ConvolutionParameters<double>, 3> convolution{};  // forward, dgrad, wgrad
  std::array<MeasuredSurface, 3> convolution_points;
  std::array<PassParameters<double>, passes.size()> pass{};
  std::array<MeasuredSurface, passes.size()> pass_points;
  HostParameters<double> host{};
  LaunchParameters<double> launch{};
  CopyParameters<double> host_to_device{};
  CopyParameters<double> device_to_host{};
  OverlapParameters<double> overlap{};
  PowerParameters<double> power{};
  std::vector<CollectiveCurve> collectives;

  std::vector<ParameterRecord> records;
  std::vector<FitQuality> quality;
  std::vector<std::string> sources;
};

// How many multiprocessors a card has, and whether they have warp groups: those that do compute at
// least 6 dense 16-bit TFLOP/s each, those that do not at most 3.
Multiprocessors multiprocessors_of(const GpuProfile& gpu);

// Where a shape lies in its surface: log2 of the sizes that matter, plus a step that keeps apart
// what must not be mixed (alignment, layout, type width, mask).
MeasuredSurface::Point surface_point(const Gemm& gemm);
MeasuredSurface::Point surface_point(const Attention& attention);
MeasuredSurface::Point surface_point(const Pass& pass);
MeasuredSurface::Point surface_point(const Convolution& convolution);

// Every scalar parameter of a profile under its full name, for files and reports.
struct NamedParameter {
  std::string name;
  ParameterInfo info;
  double* value;
};
std::vector<NamedParameter> named_parameters(GpuProfile& gpu);

}  // namespace stepsight
