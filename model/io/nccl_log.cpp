#include "model/io/nccl_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "model/errors.h"
#include "model/io/bench_log.h"
#include "model/io/log_text.h"
#include "model/io/p2p_log.h"
#include "model/io/table.h"

namespace stepsight {

namespace {

using Tokens = std::vector<std::string_view>;

constexpr std::array<std::string_view, 8> floating_types{
    "float", "half", "bfloat16", "double", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"};
constexpr std::array<std::string_view, 6> integer_types{
    "int8", "uint8", "int32", "uint32", "int64", "uint64"};
constexpr std::array<std::string_view, 8> reductions{
    "sum", "prod", "max", "min", "avg", "all", "none", "mulsum"};
// Tests of the suite that are no collective of ours; named so that the message can be.
constexpr std::array<std::string_view, 6> other_tests{
    "broadcast", "reduce", "gather", "scatter", "sendrecv", "hypercube"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_integer(std::string_view token) {
  if (token.starts_with('-')) token.remove_prefix(1);
  return !token.empty() && std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; });
}

// Columns after the reduction, by position: time, algbw, busbw and check, twice. The root column
// came with version 2.11.
struct Columns {
  bool known = false;
  std::size_t time = 0;  // from the first column
  std::size_t second_time = 0;
  std::size_t to_algbw = 1;  // from each time
  std::size_t to_busbw = 2;
};

// A header line gives the place of the times; "-I 1" puts more columns between the two.
Columns columns_of(const Tokens& header) {
  Columns c;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (c.known && c.second_time == 0 && header[i] == "algbw") c.to_algbw = i - c.time;
    if (c.known && c.second_time == 0 && header[i] == "busbw") c.to_busbw = i - c.time;
    if (header[i] != "time") continue;
    (c.known ? c.second_time : c.time) = i;
    c.known = true;
  }
  return c;
}

struct Reader {
  explicit Reader(std::string name) : file(std::move(name)) {}

  std::string file;
  CollectiveLog log;
  std::optional<CollectiveKind> kind;
  std::string other_test;
  Columns columns;
  std::set<std::string, std::less<>> hosts;
  std::set<std::string, std::less<>> transports;
  std::set<std::string_view> reductions_seen;
  std::int64_t ranks_listed = 0;
  std::size_t tables = 0;
  std::size_t integer_rows = 0;
  std::size_t cut_rows = 0;
  std::size_t other_lines = 0;
  std::size_t zero_busbw = 0;
  double factor_sum = 0;  // of busbw / algbw, over rows where it has digits enough
  std::size_t factors = 0;
};

// "all_reduce_perf", "all_reduce", "/opt/nccl-tests/build/alltoall_perf".
void note_test_name(Reader& r, std::string_view word) {
  if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos)
    word = word.substr(slash + 1);
  const bool is_perf = word.ends_with("_perf");
  if (is_perf) word.remove_suffix(5);
  if (const auto kind = parse_collective(word)) {
    if (!r.kind) r.kind = kind;
  } else if (is_perf && is_one_of(word, other_tests)) {
    r.other_test = word;
  }
}

// "Rank  0 Group  0 Pid 41001 on  gpu-a device  0 [0000:01:00] NVIDIA GeForce RTX 4090"
bool note_device(Reader& r, const Tokens& t) {
  if (t.size() < 6 || t[0] != "Rank" || !is_integer(t[1])) return false;
  const auto on = std::ranges::find(t, "on");
  const auto device = std::ranges::find(t, "device");
  if (on == t.end() || device == t.end() || device - on != 2) return false;
  r.hosts.emplace(*(on + 1));
  std::int64_t rank = 0;
  std::from_chars(t[1].data(), t[1].data() + t[1].size(), rank);
  r.ranks_listed = std::max(r.ranks_listed, rank + 1);
  // Device number, bus id in brackets (which may hold blanks), then the card's name.
  auto name = std::find_if(device, t.end(), [](std::string_view x) { return x.ends_with(']'); });
  if (r.log.gpu.empty() && name != t.end()) {
    for (++name; name != t.end(); ++name) {
      r.log.gpu += (r.log.gpu.empty() ? "" : " ") + std::string(*name);
    }
  }
  return true;
}

// "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM" and "via NET/IB/0/GDRDMA".
void note_transport(Reader& r, const Tokens& t) {
  for (std::size_t i = 0; i + 1 < t.size(); ++i) {
    if (t[i] != "via") continue;
    std::string way(t[i + 1]);
    // NET/IB/3/GDRDMA: the adapter's number is not the kind of way.
    std::erase_if(way, [](char c) { return c >= '0' && c <= '9'; });
    if (const std::size_t twice = way.find("//"); twice != std::string_view::npos)
      way.erase(twice, 1);
    while (way.ends_with('/')) way.pop_back();
    if (r.transports.size() < 16) r.transports.insert(way);
  }
}

// Adds one row of the table: t[at] is the type, size and count lie before it.
void add_row(Reader& r, const Tokens& t, std::size_t at) {
  const std::size_t begin = at - 2;
  std::size_t time = at + 1;
  if (time < t.size() && is_one_of(t[time], reductions)) {
    r.reductions_seen.insert(*std::ranges::find(reductions, t[time]));
    ++time;
  }
  // A root is an integer; without a header it is one when the columns left are odd in number
  // (time, algbw, busbw and check, once or twice).
  if (r.columns.known) {
    time = begin + r.columns.time;
  } else if ((t.size() - time) % 2 == 1 && time < t.size() && is_integer(t[time])) {
    ++time;
  }
  if (is_one_of(t[at], integer_types)) {
    ++r.integer_rows;
    return;
  }
  const auto number = [&](std::size_t i) {
    return i < t.size() ? number_of(t[i]) : std::optional<double>();
  };
  const auto bytes = number(begin);
  auto us = number(time);
  auto algbw = number(time + r.columns.to_algbw);
  auto busbw = number(time + r.columns.to_busbw);
  if ((!us || *us <= 0) && r.columns.second_time > 0) {  // in place only
    time = begin + r.columns.second_time;
    us = number(time);
    algbw = number(time + r.columns.to_algbw);
    busbw = number(time + r.columns.to_busbw);
  }
  if (!bytes || !us || !busbw || *us <= 0) {
    ++r.cut_rows;
    return;
  }
  if (*bytes <= 0) return;  // a size of nothing is a row of every log, and says nothing
  if (*busbw <= 0) ++r.zero_busbw;
  if (algbw && *algbw >= 1 && *busbw > 0) {
    r.factor_sum += *busbw / *algbw;
    ++r.factors;
  }
  r.log.rows.push_back({*bytes, *us, *busbw});
}

void read_line(Reader& r, std::string_view line) {
  const Tokens t = tokens_of(without_prefix(line));
  if (t.empty()) return;
  if (note_device(r, t)) return;
  if (std::ranges::find(t, "INFO") != t.end()) {
    note_transport(r, t);
    return;
  }
  const auto has = [&](std::string_view word) { return std::ranges::find(t, word) != t.end(); };
  if (has("size") && has("time") && has("busbw")) {
    ++r.tables;
    r.columns = columns_of(t);
    return;
  }
  for (std::size_t i = 2; i < t.size() && i < 4; ++i) {
    const bool type = is_one_of(t[i], floating_types) || is_one_of(t[i], integer_types);
    if (type && is_integer(t[i - 1]) && is_integer(t[i - 2])) {
      add_row(r, t, i);
      return;
    }
  }
  ++r.other_lines;
  for (const std::string_view word : t) note_test_name(r, word);
}

// What busbw / algbw says of the ranks, where no device list does: passes (n - 1) / n.
std::int64_t ranks_from_factor(const Reader& r, CollectiveKind kind) {
  if (r.factors == 0) return 0;
  const double share = r.factor_sum / static_cast<double>(r.factors) / info(kind).passes;
  return share >= 0.999 || share <= 0.25 ? 0 : std::llround(1 / (1 - share));
}

// Where neither the log nor the file's name tells: a sum whose busbw exceeds algbw is an
// all-reduce.
std::optional<CollectiveKind> kind_from_rows(const Reader& r) {
  if (r.factors == 0 || r.reductions_seen.contains("none")) return std::nullopt;
  const double factor = r.factor_sum / static_cast<double>(r.factors);
  return factor > 0.99 ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
}

std::optional<CollectiveKind> kind_from_name(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  for (const CollectiveInfo& row : collectives) {
    if (name.find(row.name) != std::string_view::npos ||
        name.find(row.file_name) != std::string_view::npos)
      return row.kind;
  }
  return std::nullopt;
}

void check_busbw(const Reader& r) {
  const CollectiveLog& log = r.log;
  if (r.zero_busbw == log.rows.size()) {
    throw UserError(
        r.file + ": the bus bandwidth is 0 in all " + std::to_string(log.rows.size()) +
        " rows: one rank measured nothing" +
        (r.tables > 1 ? ". These are " + std::to_string(r.tables) + " copies of one rank" : "") +
        ". Build nccl-tests with MPI=1 for mpirun, or give -g the number of GPUs");
  }
}

void settle_kind(Reader& r) {
  if (!r.kind && !r.other_test.empty()) {
    throw UserError(r.file + ": this is the log of " + r.other_test +
                    "_perf; known are all_reduce, all_gather, reduce_scatter and alltoall");
  }
  if (!r.kind) r.kind = kind_from_name(r.file);
  if (!r.kind) r.kind = kind_from_rows(r);
  if (!r.kind) {
    throw UserError(
        r.file +
        ": which collective was measured is not said: let the file's name hold it, as in "
        "'all_gather_8gpu.log'");
  }
  r.log.kind = *r.kind;
}

void settle_ranks(Reader& r) {
  CollectiveLog& log = r.log;
  log.ranks = r.ranks_listed > 1 ? r.ranks_listed : ranks_from_factor(r, log.kind);
  if (log.ranks < 2) {
    throw UserError(
        r.file +
        ": the number of ranks is not said, neither by a device list nor by busbw / algbw");
  }
  log.nodes = std::max<std::int64_t>(1, static_cast<std::int64_t>(r.hosts.size()));
}

CollectiveLog settled(Reader& r) {
  CollectiveLog& log = r.log;
  if (log.rows.empty()) {
    throw UserError(r.file + ": no row of a collective test was found" +
                    (r.cut_rows > 0 ? " that is whole" : ""));
  }
  check_busbw(r);
  settle_kind(r);
  settle_ranks(r);
  for (CollectiveLogRow& row : log.rows) {
    row.busbw_GBps = row.bytes * traffic_factor(log.kind, log.ranks) / row.time_us / 1e3;
  }
  log.transports.assign(r.transports.begin(), r.transports.end());
  const auto skip = [&](std::size_t count, const char* what) {
    if (count > 0) log.skipped.push_back(std::to_string(count) + " " + what);
  };
  skip(r.integer_rows, "rows of integer types are not used");
  skip(r.cut_rows, "rows are cut off");
  // A test prints some twenty lines around a table; what is more came from elsewhere.
  const std::size_t usual = 20 * std::max<std::size_t>(r.tables, 1);
  skip(r.other_lines > usual ? r.other_lines : 0,
       "lines are no rows of a test and were passed over");
  return std::move(log);
}

// "args" of the JSON: the command line, as one text or word by word.
void note_arguments(Reader& r, const Value* args) {
  if (args == nullptr) return;
  if (const auto* line = std::get_if<std::string>(&args->data)) {
    for (const std::string_view word : tokens_of(*line)) note_test_name(r, word);
    return;
  }
  const auto* words = std::get_if<Array>(&args->data);
  if (words == nullptr) return;
  for (const Value& word : *words) {
    if (const auto* text = std::get_if<std::string>(&word.data)) note_test_name(r, *text);
  }
}

void read_json_result(Reader& r, Table& row) {
  const double bytes = row.require_number("size", 0, 1e15);
  const std::string type = row.optional_string("type").value_or("float");
  Table out = row.sub_table("out_of_place");
  if (!out.present()) out = row.sub_table("in_place");
  const double us = out.require_number("time", 0, 1e12);
  const double busbw = out.require_number("bus_bw", 0, 1e6);
  const double algbw = out.require_number("alg_bw", 0, 1e6);
  if (is_one_of(type, integer_types)) {
    ++r.integer_rows;
    return;
  }
  if (bytes <= 0 || us <= 0) return;
  if (busbw <= 0) ++r.zero_busbw;
  if (algbw >= 1 && busbw > 0) {
    r.factor_sum += busbw / algbw;
    ++r.factors;
  }
  r.log.rows.push_back({bytes, us, busbw});
}

// The JSON that -J writes.
CollectiveLog read_json_log(const std::string& file, std::string_view text) {
  const Value root = parse_json(file, text);
  ErrorList errors(file);
  Table table(root, errors);
  Reader r(file);
  note_arguments(r, table.value("args"));
  for (Table& device : table.array_of_tables("devices")) {
    r.ranks_listed = std::max(r.ranks_listed, device.require_int("rank", 0, 10000000) + 1);
    if (const auto host = device.optional_string("hostname")) r.hosts.insert(*host);
    if (const auto name = device.optional_string("device_info")) r.log.gpu = *name;
  }
  for (Table& row : table.array_of_tables("results")) read_json_result(r, row);
  errors.throw_if_any();
  return settled(r);
}

}  // namespace

bool looks_like_collective_log(std::string_view text) {
  if (looks_like_p2p_log(text) || looks_like_bench_log(text)) return true;
  for (const std::string_view mark : {"busbw", "bus_bw", "nccl-tests", "_perf", "NCCL INFO"}) {
    if (text.find(mark) != std::string_view::npos) return true;
  }
  // A header may be missing altogether: rows are size, count, type. The first lines tell.
  constexpr std::size_t enough = 65536;
  for (const std::string_view line : split(text.substr(0, enough), '\n')) {
    const Tokens t = tokens_of(without_prefix(line));
    for (std::size_t i = 2; i < t.size() && i < 4; ++i) {
      if (is_one_of(t[i], floating_types) && is_integer(t[i - 1]) && is_integer(t[i - 2]))
        return true;
    }
  }
  return false;
}

CollectiveLog read_collective_log(const std::string& file, std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return read_json_log(file, text);
  if (looks_like_p2p_log(text)) return read_p2p_log(file, text);
  if (looks_like_bench_log(text)) return read_bench_log(file, text);
  const std::string plain = without_ansi(text);
  Reader r(file);
  for (const std::string_view line : split(plain, '\n')) read_line(r, line);
  return settled(r);
}

void add_collective_log(const std::string& file,
                        std::string_view text,
                        std::uint32_t source,
                        Measurements& into) {
  const CollectiveLog log = read_collective_log(file, text);
  for (const CollectiveLogRow& row : log.rows) {
    into.collectives.push_back({log.kind, log.ranks, row.bytes, row.time_us, source});
  }
  for (const std::string& what : log.skipped)
    into.skipped.push_back(std::string(file).append(": ").append(what));
}

}  // namespace stepsight
