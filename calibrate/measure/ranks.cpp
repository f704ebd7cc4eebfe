#include "calibrate/measure/ranks.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "model/errors.h"

namespace stepsight::calibrate {
namespace {

int whole_number(std::string_view name, std::string_view text, int least, int most) {
  int value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc{} || r.ptr != text.data() + text.size() || value < least || value > most) {
    throw UserError(std::string(name) + "='" + std::string(text) + "' is no whole number from " +
                    std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

struct LauncherRow {
  const char* name;
  const char* rank;
  const char* world;
  const char* local;
};

constexpr std::array<LauncherRow, 3> launchers{{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
}};

// Where rank 0 is to be found when nobody said so in MASTER_ADDR.
std::string guess_address(const Environment& environment, const RankInfo& ranks) {
  const auto local_size = environment("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (ranks.launcher == "mpirun" && local_size == std::to_string(ranks.world)) return "127.0.0.1";
  if (ranks.launcher == "srun") {
    if (const auto nodes = environment("SLURM_STEP_NODELIST")) return first_slurm_host(*nodes);
    if (const auto nodes = environment("SLURM_NODELIST")) return first_slurm_host(*nodes);
  }
  return "";
}

}  // namespace

RankInfo read_ranks(const Environment& environment) {
  constexpr int most_ranks = 1 << 20;
  RankInfo ranks;
  for (const LauncherRow& row : launchers) {
    const auto rank = environment(row.rank);
    const auto world = environment(row.world);
    if (!rank || !world) continue;
    const int size = whole_number(row.world, *world, 1, most_ranks);
    // sbatch sets the Slurm variables for the batch script itself too.
    if (row.name == std::string_view("srun") && size == 1) continue;
    ranks.launcher = row.name;
    ranks.world = size;
    ranks.rank = whole_number(row.rank, *rank, 0, size - 1);
    const auto local = environment(row.local);
    ranks.local_rank = local ? whole_number(row.local, *local, 0, size - 1) : 0;
    break;
  }
  if (const auto address = environment("MASTER_ADDR")) ranks.address = *address;
  if (ranks.address.empty()) ranks.address = guess_address(environment, ranks);
  if (const auto port = environment("MASTER_PORT")) {
    ranks.port = whole_number("MASTER_PORT", *port, 1, 65534);
  }
  if (environment("TORCHELASTIC_USE_AGENT_STORE") == "True") ++ranks.port;
  return ranks;
}

std::string first_slurm_host(std::string_view list) {
  const std::size_t bracket = list.find_first_of("[,");
  if (bracket == std::string_view::npos || list[bracket] == ',') {
    return std::string(list.substr(0, bracket));
  }
  const std::string_view numbers = list.substr(bracket + 1);
  const std::string_view first = numbers.substr(0, numbers.find_first_of("-,]"));
  return std::string(list.substr(0, bracket)) + std::string(first);
}

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

}  // namespace stepsight::calibrate
