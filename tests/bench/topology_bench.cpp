// An all-reduce over 1,024 machines of eight GPUs, from the text of its link to its time.
#include <memory>
#include <string>

#include "model/collective.h"
#include "model/io/error_list.h"
#include "model/io/topology_table.h"
#include "model/io/value.h"
#include "model/link_class.h"
#include "tests/bench/bench.h"

namespace stepsight::bench {
namespace {

const std::string machine = R"(machines_per_leaf = 32
edges = [
  { from = "gpu0-7", to = "nvswitch0", wire = "nvlink4" },
  { from = "gpu0-7", to = "switch0-7", wire = "pcie5-x16" },
  { from = "switch0-7", to = "socket0-1" },
  { from = "socket0", to = "socket1" },
  { from = "nic0-7", to = "switch0-7", wire = "pcie5-x16" },
  { from = "nic0-7", to = "leaf0-7", wire = "400G-ib" },
  { from = "leaf0-7", to = "spine0-7", oversubscription = 2 },
]
)";

double all_reduce_s(const LinkClass& link) {
  const auto p = class_parameters(link, {CollectiveKind::all_reduce, 8192, 1024});
  return collective_formula(CollectiveKind::all_reduce, 8192, 1e9, p).value;
}

double by_name_ms(const BenchContext&) {
  return 1e3 * seconds_per_call(
                   [] { keep(all_reduce_s(*parse_link_class("nvlink4-nvswitch+8x400G-ib"))); });
}

double by_table_ms(const BenchContext&) {
  return 1e3 * seconds_per_call([] {
           ErrorList errors("machine.toml");
           const Value root = parse_toml("machine.toml", machine);
           Table table(root, errors);
           LinkClass link = *parse_link_class("nvlink4-nvswitch");
           link.machine =
               std::make_shared<const Topology>(table_topology(read_topology_table(table), link));
           keep(all_reduce_s(link));
         });
}

const int registered[] = {
    add_bench(
        {"topology: 1,024 machines of eight GPUs, by name", 10, "ms", Better::lower, by_name_ms}),
    add_bench({"topology: the same from a table of edges", 10, "ms", Better::lower, by_table_ms}),
};

}  // namespace
}  // namespace stepsight::bench
