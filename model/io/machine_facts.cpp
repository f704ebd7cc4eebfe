#include "model/io/machine_facts.h"

#include "model/io/read_file.h"
#include "model/io/table.h"
#include "model/usual_link.h"

namespace stepsight {

MachineFacts read_machine(const std::string& path) {
  const Value root = parse_json(path, read_file(path, 256 * megabyte, "a measurement file"));
  ErrorList errors(path);
  Table table(root, errors);
  table.require_int("schema", 1, 1);
  MachineFacts out;
  out.tool = table.require_string("tool");
  out.status = table.optional_string("status").value_or("");
  Table machine = table.sub_table("machine");
  out.gpu = machine.require_string("gpu");
  out.gpus = machine.optional_int("gpus", 0).value_or(1);
  out.multiprocessors = machine.optional_int("sm_count", 1, 100000).value_or(0);
  out.memory_bytes = machine.optional_number("memory_bytes", 0).value_or(0);
  out.l2_bytes = machine.optional_number("l2_bytes", 0).value_or(0);
  out.pcie_generation = machine.optional_int("pcie_generation", 0, 100).value_or(0);
  out.pcie_width = machine.optional_int("pcie_width", 0, 100).value_or(0);
  out.pcie_max_generation = machine.optional_int("pcie_max_generation", 0, 100).value_or(0);
  out.pcie_max_width = machine.optional_int("pcie_max_width", 0, 100).value_or(0);
  out.nvlinks = machine.optional_int("nvlinks", 0, 1000).value_or(0);
  out.nvlink_to = machine.optional_string("nvlink_to").value_or("");
  Table clocks = table.sub_table("clocks_during");
  if (clocks.present()) out.throttle = clocks.optional_string("throttle").value_or("");
  errors.throw_if_any();
  return out;
}

std::string link_of_machine(const MachineFacts& machine, const std::string& card) {
  if (machine.nvlinks > 0) {
    // Links from card to card are a bridge where there are two cards. A driver that hides the far
    // end leaves it to the card: boards from NVLink 3 on have a switch.
    const bool bridge = machine.nvlink_to == "gpu" && machine.gpus == 2;
    const char* kind = machine.nvlink_to == "switch" ? "nvswitch"
                       : bridge                      ? "nvlink-pairs"
                                                     : "nvlink-mesh";
    return usual_link(card, kind, 0);
  }
  if (machine.pcie_max_generation > 0) return usual_link(card, "pcie", 0);
  return "measured";
}

}  // namespace stepsight
