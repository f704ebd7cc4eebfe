#include "model/io/bench_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "model/errors.h"
#include "model/io/log_text.h"

namespace stepsight {

namespace {

constexpr std::string_view table_mark = "payload |";
constexpr std::string_view average_mark = "average bandwidth of all_reduce with a";
constexpr std::string_view oldest_mark = "algo throughput:";
constexpr std::string_view deepspeed_line = "| comm op:";
constexpr std::string_view deepspeed_table = "Comm. Op";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What stands after a label, up to `end` or the end of the line.
std::string_view after(std::string_view line, std::string_view label, std::string_view end = "\n") {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + label.size());
  return trimmed(line.substr(0, line.find(end)));
}

// One result as printed: a message's size, its time, and busbw / algbw.
struct Result {
  CollectiveKind kind = CollectiveKind::all_reduce;
  double bytes = 0;
  double time_us = 0;
  double factor = 0;  // 0: not printed, or with too few digits
};

// Ranks whose all-reduce factor 2 (n - 1) / n, or the share (n - 1) / n of it, was printed.
std::int64_t ranks_of_share(double share) {
  return share > 0.25 && share < 0.9995 ? std::llround(1 / (1 - share)) : 0;
}

// --- all_reduce_bench.py
// --------------------------------------------------------------------------

// "|  16GiB | 482.26GBps | 275.58GBps |": payload, busbw, algbw.
std::optional<Result> table_row(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::string_view cell : split(line, '|')) {
    cell = trimmed(cell);
    if (!cell.empty()) cells.push_back(cell);
  }
  if (cells.size() != 3) return std::nullopt;
  const auto bytes = bytes_of(cells[0]);
  const auto busbw = gigabytes_per_second_of(cells[1]);
  const auto algbw = gigabytes_per_second_of(cells[2]);
  if (!bytes || !busbw || !algbw || *algbw <= 0 || *bytes <= 0) return std::nullopt;
  // Two digits behind the point: only rows with three significant ones tell the ranks.
  return Result{CollectiveKind::all_reduce,
                *bytes,
                *bytes / *algbw / 1e3,
                *algbw >= 1 ? *busbw / *algbw / 2 : 0};
}

struct BenchReader {
  std::vector<Result> results;
  std::int64_t ranks = 0;
  double payload = 0;  // bytes; of the result that is being read
  double seconds = 0;
  double algbw = 0;  // GB/s
};

// The bandwidth behind a label; the first that has a unit, as in "1.2 bps, 1323.6 Gbps". Of
// "44.9 GBps (std: 0.01) (359.6 Gbps)" what stands before the bracket.
std::optional<double> bandwidth_after(std::string_view line, std::string_view label) {
  const std::string_view text = after(line, label);
  if (text.empty()) return std::nullopt;
  for (const std::string_view part : split(text, ',')) {
    const auto rate = gigabytes_per_second_of(part.substr(0, part.find('(')));
    if (rate && *rate > 0) return rate;
  }
  return std::nullopt;
}

void add_result(BenchReader& r, double busbw) {
  if (r.payload <= 0 || r.algbw <= 0) return;
  r.results.push_back(
      {CollectiveKind::all_reduce, r.payload, r.payload / r.algbw / 1e3, busbw / r.algbw / 2});
  r.algbw = 0;
}

void read_average_line(BenchReader& r, std::string_view line) {
  if (has(line, average_mark)) {
    r.payload = bytes_of(after(line, average_mark, " payload")).value_or(0);
    const auto ranks = number_of(after(line, "trials,", " ranks"));
    if (ranks && *ranks >= 2 && *ranks <= 1e7) r.ranks = static_cast<std::int64_t>(*ranks);
    return;
  }
  if (const auto algbw = bandwidth_after(line, "algbw:")) r.algbw = *algbw;
  if (const auto busbw = bandwidth_after(line, "busbw:")) add_result(r, *busbw);
}

void read_oldest_line(BenchReader& r, std::string_view line) {
  if (const auto size = bytes_of(after(line, "data size:"))) r.payload = *size;
  if (const std::string_view text = after(line, "duration:", "sec"); !text.empty()) {
    r.seconds = number_of(text).value_or(0);
  }
  if (const auto twice = bandwidth_after(line, oldest_mark)) {
    r.algbw = *twice / 2;
    // Without its own line the payload is what that rate moved in that time, to three digits.
    if (r.payload <= 0) r.payload = r.algbw * 1e9 * r.seconds;
  }
  if (const auto busbw = bandwidth_after(line, "busbw:")) add_result(r, *busbw);
}

// --- DeepSpeed
// ------------------------------------------------------------------------------------

std::optional<CollectiveKind> deepspeed_kind(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 8> names{
      {{"all_reduce", CollectiveKind::all_reduce},
       {"inference_all_reduce", CollectiveKind::all_reduce},
       {"all_gather", CollectiveKind::all_gather},
       {"all_gather_into_tensor", CollectiveKind::all_gather},
       {"allgather_fn", CollectiveKind::all_gather},
       {"reduce_scatter", CollectiveKind::reduce_scatter},
       {"reduce_scatter_tensor", CollectiveKind::reduce_scatter},
       {"all_to_all_single", CollectiveKind::all_to_all}}};
  for (const auto& [known, kind] : names) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

// Its throughput counts an all-reduce twice, and gathers by the whole array. Two digits behind the
// point: rates below 1 do not tell the ranks.
Result deepspeed_result(CollectiveKind kind, double ms, double tput_Gbps, double busbw_Gbps) {
  const double passes = kind == CollectiveKind::all_reduce ? 2 : 1;
  return {kind,
          tput_Gbps * 1e9 / 8 * ms * 1e-3 / passes,
          ms * 1e3,
          tput_Gbps >= 1 ? busbw_Gbps / tput_Gbps : 0};
}

struct DeepspeedReader {
  std::vector<Result> results;
  std::size_t others = 0;
  std::optional<CollectiveKind> kind;  // of the rows that follow in the summary
};

void add_result(DeepspeedReader& r,
                std::optional<CollectiveKind> kind,
                std::optional<double> ms,
                std::optional<double> tput,
                std::optional<double> busbw) {
  if (!ms || !tput || !busbw || *ms <= 0 || *tput <= 0 || *busbw <= 0) return;
  if (!kind) {
    ++r.others;
    return;
  }
  r.results.push_back(deepspeed_result(*kind, *ms, *tput, *busbw));
}

void read_deepspeed_line(DeepspeedReader& r, std::string_view line) {
  if (has(line, deepspeed_line)) {
    add_result(r,
               deepspeed_kind(after(line, "comm op:", "|")),
               number_of(after(line, "time (ms):", "|")),
               number_of(after(line, "algbw (Gbps):", "|")),
               number_of(after(line, "busbw (Gbps):", "|")));
    return;
  }
  // Summary: an operation's name on a line, then size, unit, count, total, average, tput, busbw.
  const auto words = tokens_of(line);
  if (words.size() == 1) r.kind = deepspeed_kind(words.front());
  if (words.size() == 7 && number_of(words[0]) && !number_of(words[1])) {
    add_result(r, r.kind, number_of(words[4]), number_of(words[5]), number_of(words[6]));
  }
}

// Keeps the collective with most time in all.
void keep_one_kind(DeepspeedReader& r) {
  std::map<CollectiveKind, double> time;
  for (const Result& x : r.results) time[x.kind] += x.time_us;
  if (time.empty()) return;
  const CollectiveKind kept =
      std::ranges::max_element(time, {}, [](const auto& x) { return x.second; })->first;
  r.others += std::erase_if(r.results, [&](const Result& x) { return x.kind != kept; });
}

// --- both
// -----------------------------------------------------------------------------------------

// One row a size, with the median time: trials and ranks repeat it.
std::vector<CollectiveLogRow> rows_of(const std::vector<Result>& results,
                                      CollectiveKind kind,
                                      std::int64_t ranks) {
  std::map<std::int64_t, std::vector<Result>> by_size;
  for (const Result& x : results) {
    // Sizes that were told by a rate and a time agree to three digits only.
    by_size[std::llround(std::log(x.bytes) * 200)].push_back(x);
  }
  std::vector<CollectiveLogRow> rows;
  for (auto& [size, same] : by_size) {
    std::ranges::nth_element(
        same, same.begin() + static_cast<std::ptrdiff_t>(same.size() / 2), {}, &Result::time_us);
    const Result& middle = same[same.size() / 2];
    rows.push_back({middle.bytes,
                    middle.time_us,
                    middle.bytes * traffic_factor(kind, ranks) / middle.time_us / 1e3});
  }
  return rows;
}

CollectiveLog settled(const std::string& file,
                      const std::vector<Result>& results,
                      std::int64_t ranks) {
  if (results.empty()) throw UserError(file + ": no row of a collective test was found");
  std::vector<double> shares;
  for (const Result& x : results) {
    if (x.factor > 0) shares.push_back(x.factor);
  }
  if (ranks == 0 && !shares.empty()) {
    std::ranges::nth_element(shares,
                             shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2));
    ranks = ranks_of_share(shares[shares.size() / 2]);
  }
  if (ranks < 2) {
    throw UserError(file +
                    ": the number of ranks is not said, neither in words nor by busbw / algbw");
  }
  CollectiveLog log;
  log.kind = results.front().kind;
  log.ranks = ranks;
  log.rows = rows_of(results, log.kind, ranks);
  if (results.size() > log.rows.size()) {
    log.skipped.push_back(std::to_string(results.size() - log.rows.size()) +
                          " repeats of a size were taken by their median");
  }
  return log;
}

}  // namespace

bool looks_like_bench_log(std::string_view text) {
  return has(text, table_mark) || has(text, average_mark) || has(text, oldest_mark) ||
         has(text, deepspeed_line) || has(text, deepspeed_table);
}

CollectiveLog read_bench_log(const std::string& file, std::string_view text) {
  const std::string plain = without_ansi(text);
  if (has(plain, deepspeed_line) || has(plain, deepspeed_table)) {
    DeepspeedReader r;
    for (const std::string_view line : split(plain, '\n')) read_deepspeed_line(r, line);
    keep_one_kind(r);
    CollectiveLog log = settled(file, r.results, 0);
    if (r.others > 0) {
      log.skipped.push_back(std::to_string(r.others) + " rows of other operations are not used");
    }
    log.skipped.emplace_back("times of a training step hold the wait for the slowest rank");
    return log;
  }
  BenchReader r;
  const bool table = has(plain, table_mark);
  const bool average = has(plain, average_mark);
  for (const std::string_view line : split(plain, '\n')) {
    if (table) {
      if (const auto row = table_row(line)) r.results.push_back(*row);
    } else if (average) {
      read_average_line(r, line);
    } else {
      read_oldest_line(r, line);
    }
  }
  return settled(file, r.results, r.ranks);
}

}  // namespace stepsight
