// Figures in a line of a log, found by the words before them.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace stepsight {

struct LogNumber {
  double value = 0;  // finite
  std::string_view
      unit;  // what stands glued or one blank behind it: "ms", "GiB", "s/it"; may be empty
  std::string_view rest;  // of the line, from the unit on
};

// The number at the start of a text: "561.94ms", "5,762", "3.5M", "'1.731'", "( 1.202)". Groups of
// three digits behind commas are thousands, another comma between digits is a decimal one. Blanks,
// quotes and an opening parenthesis before it are passed over.
std::optional<LogNumber> leading_number(std::string_view text);

// The number behind a key: "time: 0.379", "loss=1.2", "Time  0.251". The key must not be a part of
// a longer word ("time" is not found in "data_time" nor in "time_ms"); between it and the number
// stand blanks, quotes, ':' or '=' only.
std::optional<LogNumber> number_after(std::string_view line, std::string_view key);
std::optional<double> value_after(std::string_view line, std::string_view key);
// As a count: whole, 0 to 9e15.
std::optional<std::int64_t> count_after(std::string_view line, std::string_view key);

// A time behind a key, by its unit (us, ms, s, min, h), `without_unit` seconds where there is none.
std::optional<double> seconds_after(std::string_view line,
                                    std::string_view key,
                                    double without_unit = 1);

// "10/312", "21 / 100", "1750/2693]": a count and how many there are. From the start of the text.
std::optional<std::pair<std::int64_t, std::int64_t>> progress_of(std::string_view text);

// "04:23", "1:02:03", "2 days, 3:04:05", "0:00:03.5": seconds.
std::optional<double> clock_seconds(std::string_view text);

// The first time stamp of a line, "2026-01-05 10:11:12,345" or "2026/01/23 10:05:04", as seconds
// since 1970 without a time zone: for differences.
std::optional<double> time_stamp(std::string_view line);

// The rank that a launcher names in front: "[rank3]:", "[default7]:", "[1,15]<stdout>:", "3: ". The
// number; nothing where there is no such prefix.
std::optional<std::int64_t> rank_prefix(std::string_view line);

// 1e3, 1e6, 1e9 for "K", "M", "B"; 1 for anything else.
double suffix_factor(std::string_view unit);

}  // namespace stepsight
