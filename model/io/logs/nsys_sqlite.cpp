#include "model/io/logs/nsys_sqlite.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <memory>
#include <optional>

#include <sqlite3.h>

#include "model/errors.h"
#include "model/io/logs/split_events.h"

namespace stepsight {

namespace {

constexpr double us_of_ns = 1e-3;
constexpr std::int64_t latest_ns =
    100'000'000'000'000'000;  // three years: what a trace may hold, too

// A database is a program, too: of a crafted one no more than so many steps of its machine are run
// for a row, and nothing of its own that could call functions.
constexpr int longest_value = 1 << 20;
constexpr int steps_between_looks = 1'000'000;
constexpr int most_looks_a_row = 50;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

class Recording {
 public:
  Recording(std::string file, sqlite3* opened) : file_(std::move(file)), database_(opened) {
    sqlite3* d = database_.get();
    sqlite3_db_config(d, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(d, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(d, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(d, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_limit(d, SQLITE_LIMIT_LENGTH, longest_value);
    sqlite3_progress_handler(
        d,
        steps_between_looks,
        [](void* looks) { return ++*static_cast<int*>(looks) > most_looks_a_row ? 1 : 0; },
        &looks_);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  [[nodiscard]] bool has(const char* table) {
    const Statement s = prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1");
    sqlite3_bind_text(s.get(), 1, table, -1, SQLITE_STATIC);
    return next(s);
  }

  // Kernels' names are ids, looked up row by row in a table whose key they are.
  void each(const std::function<void(const SplitEvent&)>& take) {
    if (has("CUPTI_ACTIVITY_KIND_KERNEL")) {
      rows(
          "SELECT k.start, k.end, k.deviceId, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k "
          "LEFT JOIN StringIds s ON s.id = k.shortName",
          SplitEvent::Kind::kernel,
          take);
    }
    for (const char* table : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"}) {
      if (!has(table)) continue;
      rows(std::string("SELECT start, end, deviceId, NULL FROM ") + table,
           SplitEvent::Kind::kernel,
           take);
    }
    if (has("NVTX_EVENTS")) {
      rows(
          "SELECT n.start, n.end, 0, coalesce(n.text, s.value) FROM NVTX_EVENTS n "
          "LEFT JOIN StringIds s ON s.id = n.textId WHERE n.end IS NOT NULL",
          SplitEvent::Kind::host_step,
          take);
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw UserError(
        file_ + ": is no SQLite recording of Nsight Systems (" + sqlite3_errmsg(database_.get()) +
        "); export one with: nsys export --type sqlite -o recording.sqlite recording.nsys-rep");
  }

  [[nodiscard]] Statement prepare(const std::string& query) {
    looks_ = 0;
    sqlite3_stmt* s = nullptr;
    if (sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &s, nullptr) != SQLITE_OK) fail();
    return Statement(s);
  }

  bool next(const Statement& s) {
    looks_ = 0;
    const int result = sqlite3_step(s.get());
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) fail();
    return false;
  }

  void rows(const std::string& query,
            SplitEvent::Kind kind,
            const std::function<void(const SplitEvent&)>& take) {
    const Statement s = prepare(query);
    while (next(s)) {
      const std::int64_t start = sqlite3_column_int64(s.get(), 0);
      const std::int64_t end = sqlite3_column_int64(s.get(), 1);
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(s.get(), 3));
      const std::string_view name = text != nullptr ? text : "";
      if (end < start || std::abs(start) > latest_ns || std::abs(end) > latest_ns) continue;
      if (kind == SplitEvent::Kind::host_step && !marks_a_step(name)) continue;
      take({kind,
            name,
            static_cast<double>(start) * us_of_ns,
            static_cast<double>(end) * us_of_ns,
            sqlite3_column_int64(s.get(), 2)});
    }
  }

  std::string file_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  int looks_ = 0;
};

StepSplit split_of(Recording& recording, const std::string& file) {
  return split_events(
      file,
      [&](const std::function<void(const SplitEvent&)>& take) { recording.each(take); },
      "record with nsys profile --trace=cuda,nvtx");
}

}  // namespace

bool names_an_nsys_recording(const std::string& name) {
  return name.ends_with(".sqlite") || name.ends_with(".sqlite3");
}

bool marks_a_step(std::string_view name) {
  std::string word;
  for (const char c : name.substr(0, 60)) {
    const auto code = static_cast<unsigned char>(c);
    if (std::isalpha(code) != 0) word += static_cast<char>(std::tolower(code));
    if (std::isalpha(code) == 0 && std::isdigit(code) == 0 && std::strchr(" _#:-", c) == nullptr)
      return false;
  }
  constexpr std::array<std::string_view, 6> words{
      "step", "iteration", "iter", "profilerstep", "trainstep", "trainingstep"};
  return std::ranges::find(words, word) != words.end();
}

StepSplit read_nsys_split(const std::string& path) {
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  if (result != SQLITE_OK) {
    const std::string why = sqlite3_errmsg(opened);
    sqlite3_close(opened);
    throw UserError(path + ": cannot be read: " + why);
  }
  Recording recording(path, opened);
  return split_of(recording, path);
}

StepSplit read_nsys_split_bytes(const std::string& file, std::string_view bytes) {
  sqlite3* opened = nullptr;
  if (sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
    sqlite3_close(opened);
    throw UserError(file + ": SQLite has no memory");
  }
  Recording recording(file, opened);
  // Of SQLite's own allocation, because closing frees it.
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (copy == nullptr) throw UserError(file + ": SQLite has no memory");
  std::ranges::copy(bytes, copy);
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY;
  if (sqlite3_deserialize(opened, "main", copy, size, size, flags) != SQLITE_OK) {
    throw UserError(file + ": is no SQLite database");
  }
  return split_of(recording, file);
}

}  // namespace stepsight
