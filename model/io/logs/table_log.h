// Tables of steps or of results, CSV or Markdown, recognised by the words of their header: a step
// and its time, or a number of GPUs and how fast they are.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/io/logs/step_collector.h"

namespace stepsight {

class TableLog {
 public:
  void line(std::string_view line);
  StepLog finish();

 private:
  enum class Column { none, step, gpus, time, rate, data, loss, gpu_batch, global_batch };
  struct Reading {
    Column column = Column::none;
    double factor = 1;     // to seconds; of a rate: 1
    bool inverse = false;  // "it/s": steps a second
    bool per_gpu = false;
    bool tokens = false;
    bool cumulative = false;  // a clock that runs on
    bool epoch = false;
  };
  static Reading reading_of(std::string_view header);
  bool read_header(const std::vector<std::string_view>& cells, char separator);
  void read_row(const std::vector<std::string_view>& cells);
  void add_row(const std::vector<std::optional<double>>& values);

  StepLog log_;
  StepCollector steps_;
  std::vector<Reading> columns_;
  char separator_ = 0;
  bool scaling_ = false;
  std::int64_t unread_ = 0;
  double clock_ = 0;
  std::int64_t clock_step_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace stepsight
