// A measurement file while it grows (schema 1, calibrate/MEASUREMENT.md). The file on disk is valid
// at every moment: it is rewritten whole under a temporary name and renamed.
#pragma once
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/measure/options.h"
#include "calibrate/measure/record.h"
#include "calibrate/measure/statistics.h"

namespace stepsight::calibrate {

struct Point {
  std::string op;
  Record shape;  // with `op`, what tells this point from all others
  Summary time_us;
  Record results;  // derived from the time, or counted: busbw_GBps, wrong
};

// The keys op, shape..., median_us, q1_us, q3_us, samples, results... in this order.
Record to_record(const Point& point);

class MeasurementLog {
 public:
  // With --resume reads the points of an existing file; UserError when that file is of another tool
  // or another GPU (`gpu`), whose points must not be mixed with these.
  MeasurementLog(const Tool& tool, Options options, std::string gpu);

  // A value of the outermost object ("driver", "method"); replaces one of the same key.
  void set_top(const Field& entry);

  // Header object `name`; replaces one of the same name. The resume check reads "gpu" of "machine".
  void set_section(const std::string& name, Record section);

  bool has(const std::string& op, const Record& shape) const;

  // Rewrites the file when the last time is two seconds ago. std::logic_error for a time that is
  // not finite and positive, and for a key that a point has twice ("n" of a product, say).
  void add(const Point& point);

  // Last write, with "status": "complete", "budget" or "interrupted"; to standard output without
  // -o.
  void finish(const std::string& status);

  const std::vector<Record>& points() const { return points_; }  // kept ones first
  std::size_t kept() const { return kept_; }  // of these, read from an earlier run

  std::string text(const std::string& status) const;

 private:
  void read_earlier();
  void write(const std::string& status) const;

  std::string tool_;
  Options options_;
  std::string gpu_;
  std::string started_;
  Record top_;
  std::vector<std::pair<std::string, Record>> sections_;
  std::vector<Record> points_;
  std::set<std::string> keys_;
  std::size_t kept_ = 0;
  std::chrono::steady_clock::time_point written_;
};

// "2026-01-31T12:00:00Z".
std::string utc_now();

}  // namespace stepsight::calibrate
