#include "cli/shard.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "model/errors.h"

namespace stepsight {

namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> environment(const char* name) {
  const char* text = name == nullptr ? nullptr : std::getenv(name);
  return text == nullptr ? std::nullopt : number(text);
}

// Variables that hold which of how many this process is; `first` the number of the first.
struct Launcher {
  const char* which;
  const char* count;
  const char* first;
};
constexpr std::array<Launcher, 5> launchers{{
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    {"PMIX_RANK", "PMIX_SIZE", nullptr},
    {"PMI_RANK", "PMI_SIZE", nullptr},
    {"SLURM_PROCID", "SLURM_NTASKS", nullptr},
}};

Shard from_launcher() {
  for (const Launcher& l : launchers) {
    const auto which = environment(l.which);
    const auto count = environment(l.count);
    const std::uint64_t first = environment(l.first).value_or(0);
    if (which && count && *which >= first && *which - first < *count) {
      return {*which - first + 1, *count};
    }
  }
  throw UserError(
      "--shard auto: neither Slurm nor an MPI launcher says which of how many this is "
      "(SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID)");
}

}  // namespace

Shard parse_shard(const std::string& text) {
  if (text == "auto") return from_launcher();
  const std::size_t slash = text.find('/');
  const auto which = number(std::string_view(text).substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : number(std::string_view(text).substr(slash + 1));
  if (!which || !count || *which < 1 || *which > *count || *count > 1000000) {
    throw UserError("--shard must be I/N with I from 1 to N, such as 2/8, or auto; got '" +
                    text.substr(0, 40) + "'");
  }
  return {*which, *count};
}

Stretch stretch_of(const Shard& shard, std::uint64_t count) {
  // No product may overflow: count and shards are bounded (10 million, a million).
  return {count * (shard.number - 1) / shard.of, count * shard.number / shard.of};
}

}  // namespace stepsight
