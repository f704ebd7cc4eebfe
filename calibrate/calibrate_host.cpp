// Times what the host does for the GPU: launches, graphs, waiting, copies.
#include <iostream>
#include <string>

#include "calibrate/cuda/session.h"
#include "calibrate/host/copies.h"
#include "calibrate/host/launch_costs.h"
#include "calibrate/measure/run_main.h"

namespace stepsight::calibrate {
namespace {

constexpr Tool tool{
    .name = "calibrate_host",
    .summary = "times kernel and graph launches, synchronisation, host-device and peer copies",
    .example = "calibrate_host --quick -o h200_host.json",
    .quick_budget_s = 12,
    .full_budget_s = 60,
    .extras = {},
};

constexpr std::string_view method =
    "*_issue, sync_idle, launch_sync: host clock over batches of calls on an idle stream; "
    "kernel_gap, graph_run, pinned and peer copies: events around direct launches with the host "
    "ahead; pageable copies: host clock until the data has arrived; fit_*: least squares on "
    "relative "
    "errors of startup + bytes / bandwidth; median and quartiles";

void list(const Options& options) {
  std::cout << "op,bytes\n";
  for (const char* op : {"kernel_issue",
                         "kernel_gap",
                         "graph_issue",
                         "graph_run",
                         "event_record_issue",
                         "stream_wait_issue",
                         "sync_idle",
                         "launch_sync"}) {
    std::cout << op << ",\n";
  }
  for (const std::int64_t bytes : copy_sizes(options.full)) {
    for (const char* op : {"h2d", "d2h", "loopback", "h2d_pageable", "d2h_pageable"})
      std::cout << op << ',' << bytes << '\n';
  }
}

void measure(const Tool& self, const Options& options) {
  Session session(self, options, options.device, method, false);
  bool all = measure_launch_costs(session);
  all = all && measure_copies(session, options.full);
  add_copy_fits(session.log());
  session.finish(all);
}

}  // namespace
}  // namespace stepsight::calibrate

int main(int argc, char** argv) {
  namespace self = stepsight::calibrate;
  return self::run_main(self::tool, argc, argv, self::list, self::measure);
}
