#include "model/io/measurement_files.h"

#include <cmath>
#include <filesystem>

#include "model/errors.h"
#include "model/io/csv.h"
#include "model/io/nccl_log.h"
#include "model/io/read_file.h"

namespace stepsight {

namespace {

constexpr std::size_t largest_file = 256 * megabyte;

std::string_view without_gz(std::string_view name) {
  return name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
}

// The digits right before "gpu" in a file name; 0 when it has none.
std::int64_t ranks_in_name(std::string_view name) {
  std::int64_t ranks = 0;
  for (std::size_t at = name.find("gpu"); at != std::string_view::npos;
       at = name.find("gpu", at + 1)) {
    std::size_t first = at;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
    if (first == at || at - first > 7) continue;
    ranks = std::stoll(std::string(name.substr(first, at - first)));
  }
  return ranks;
}

// What busbw / algbw = passes (n - 1) / n says of n, by the row with most digits.
struct RanksOfBandwidth {
  double most = 0;
  std::int64_t ranks = 0;

  void add(CollectiveKind kind, double algbw, double busbw) {
    if (algbw <= most || info(kind).passes <= 0) return;
    most = algbw;
    const double share = busbw / algbw / info(kind).passes;
    ranks = share > 0.25 && share < 0.999 ? std::llround(1 / (1 - share)) : 0;
  }
};

bool is_floating(std::string_view type) {
  return type == "half" || type == "float" || type == "bfloat16" || type.empty();
}

}  // namespace

std::optional<Dtype> parse_foreign_dtype(std::string_view name) {
  if (name == "bfloat16") return Dtype::bf16;
  if (name == "float16" || name == "half") return Dtype::fp16;
  if (name == "float32" || name == "float") return Dtype::fp32;
  if (name == "e4m3") return Dtype::fp8;
  return parse_dtype(name);
}

void read_gemm_table(const std::string& file,
                     std::string_view text,
                     std::uint32_t source,
                     Measurements& into) {
  CsvTable table(file, text);
  const std::size_t m = table.column("m");
  const std::size_t n = table.column("n");
  const std::size_t k = table.column("k");
  const std::size_t dtype = table.column("dtype");
  const std::size_t time = table.column("time_us");
  table.check_columns();
  constexpr std::int64_t largest = std::int64_t{1} << 31;
  while (table.next()) {
    const std::optional<Dtype> type = parse_foreign_dtype(table.text(dtype));
    if (!type) {
      table.mistake(dtype, "must be bf16, fp16, fp32, tf32 or fp8");
      continue;
    }
    const Gemm gemm{table.integer(m, 1, largest),
                    table.integer(n, 1, largest),
                    table.integer(k, 1, largest),
                    1,
                    *type,
                    Layout::TN};
    into.gemms.push_back({gemm, table.number(time, 1e-3, 1e12), source});
  }
  table.finish();
}

void read_collective_sweep(const std::string& file,
                           std::string_view text,
                           std::uint32_t source,
                           Measurements& into) {
  CsvTable table(file, text);
  const std::size_t size = table.column("size_bytes");
  const std::size_t op = table.column("op");
  const std::size_t time = table.column("time_us");
  const std::size_t type = table.optional_column("type");
  const std::size_t algbw = table.optional_column("algbw_GBps");
  const std::size_t busbw = table.optional_column("busbw_GBps");
  table.check_columns();
  const std::size_t first = into.collectives.size();
  std::int64_t ranks = ranks_in_name(std::filesystem::path(file).filename().string());
  RanksOfBandwidth by_bandwidth;
  std::size_t other = 0;
  while (table.next()) {
    const std::optional<CollectiveKind> kind = parse_collective(table.text(op));
    // Integer sums take other paths than the gradients' types (no in-switch reduction).
    if (!kind || (type != CsvTable::absent && !is_floating(table.text(type)))) {
      ++other;
      continue;
    }
    into.collectives.push_back(
        {*kind, ranks, table.number(size, 1, 1e15), table.number(time, 1e-3, 1e12), source});
    if (algbw != CsvTable::absent && busbw != CsvTable::absent) {
      by_bandwidth.add(*kind, table.number(algbw, 0, 1e6), table.number(busbw, 0, 1e6));
    }
  }
  table.finish();
  if (ranks < 1) ranks = by_bandwidth.ranks;
  if (ranks < 2) {
    throw UserError(file +
                    ": the number of ranks is not known: the file's name must hold it, as in "
                    "'sweep_8gpu.csv', or columns algbw_GBps and busbw_GBps tell it");
  }
  for (std::size_t i = first; i < into.collectives.size(); ++i) into.collectives[i].ranks = ranks;
  if (other > 0) {
    into.skipped.push_back(file + ": " + std::to_string(other) +
                           " rows of other collectives or integer types are not used");
  }
}

void read_measurements(const std::string& path, Measurements& into) {
  const std::string text = read_file(path, largest_file, "a measurement file");
  Measurements grown = into;
  const auto source = static_cast<std::uint32_t>(grown.sources.size());
  grown.sources.push_back(std::filesystem::path(path).filename().string());
  const std::string_view name = without_gz(path);
  if (name.ends_with(".json")) {
    // nccl-tests writes JSON of its own (-J); ours has a schema.
    if (text.find("\"out_of_place\"") != text.npos) {
      add_collective_log(path, text, source, grown);
    } else {
      read_measurement_json(path, text, source, grown);
    }
  } else if (name.ends_with(".jsonl")) {
    read_host_timed_operators(path, text, source, grown);
  } else if (name.ends_with(".csv")) {
    const std::string_view head = std::string_view(text).substr(0, text.find('\n'));
    if (head.find("size_bytes") != std::string_view::npos) {
      read_collective_sweep(path, text, source, grown);
    } else {
      read_gemm_table(path, text, source, grown);
    }
  } else if (looks_like_collective_log(text)) {
    add_collective_log(path, text, source, grown);
  } else {
    throw UserError(path +
                    ": expected a measurement file: .json, .jsonl, .csv or the log of a "
                    "collective test (or .gz of these)");
  }
  into = std::move(grown);
}

}  // namespace stepsight
