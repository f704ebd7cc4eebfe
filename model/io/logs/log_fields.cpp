#include "model/io/logs/log_fields.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

#include "model/io/log_text.h"

namespace stepsight {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_' || c == '-' || c == '.' || c == '/';
}

std::size_t digits_from(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// "1,234,567" -> the length of its last comma group; 0 where the text has none. `whole` is the
// number of digits before the first comma.
std::size_t thousands(std::string_view text, std::size_t whole) {
  if (whole == 0 || whole > 3 || text[0] == '0') return 0;
  std::size_t end = whole;
  while (end < text.size() && text[end] == ',' && digits_from(text, end + 1) == 3) end += 4;
  return end == whole ? 0 : end;
}

std::optional<std::pair<double, std::size_t>> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return std::pair{value, static_cast<std::size_t>(end - text.data())};
}

// A number with its commas, and how many characters it takes.
std::optional<std::pair<double, std::size_t>> any_number(std::string_view text) {
  const std::size_t whole = digits_from(text, 0);
  if (const std::size_t end = thousands(text, whole)) {
    std::string digits;
    for (const char c : text.substr(0, end)) {
      if (c != ',') digits += c;
    }
    std::size_t tail = end;
    if (tail < text.size() && text[tail] == '.') tail += 1 + digits_from(text, tail + 1);
    digits += text.substr(end, tail - end);
    const auto value = plain_number(digits);
    return value ? std::optional(std::pair{value->first, tail}) : std::nullopt;
  }
  const bool comma = whole > 0 && whole < text.size() && text[whole] == ',';
  const std::size_t decimals = comma ? digits_from(text, whole + 1) : 0;
  if (decimals > 0) {
    std::string digits(text.substr(0, whole));
    digits += '.';
    digits += text.substr(whole + 1, decimals);
    const auto value = plain_number(digits);
    return value ? std::optional(std::pair{value->first, whole + 1 + decimals}) : std::nullopt;
  }
  return plain_number(text);
}

std::optional<std::int64_t> small_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<LogNumber> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t'\"("), text.size()));
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto number = any_number(text);
  if (!number) return std::nullopt;
  LogNumber out;
  out.value = number->first;
  out.rest = text.substr(number->second);
  std::string_view unit = out.rest;
  if (unit.starts_with(' ') && unit.size() > 1 && is_letter(unit[1])) unit.remove_prefix(1);
  std::size_t end = 0;
  while (end < unit.size() && (is_letter(unit[end]) || unit[end] == '/' || unit[end] == '%')) ++end;
  out.unit = unit.substr(0, end);
  return out;
}

std::optional<LogNumber> number_after(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    const bool joined = at > 0 && line[at - 1] != '/' && is_word(line[at - 1]);
    if (joined && is_word(key.front())) continue;
    if (end < line.size() && is_word(line[end]) && is_word(key.back())) continue;
    const std::size_t value = line.find_first_not_of(" \t'\":=", end);
    if (value == std::string_view::npos) return std::nullopt;
    if (const auto number = leading_number(line.substr(value))) return number;
  }
  return std::nullopt;
}

std::optional<double> value_after(std::string_view line, std::string_view key) {
  const auto number = number_after(line, key);
  return number ? std::optional(number->value) : std::nullopt;
}

std::optional<std::int64_t> count_after(std::string_view line, std::string_view key) {
  const auto number = number_after(line, key);
  if (!number || number->value < 0 || number->value > 9e15) return std::nullopt;
  if (number->value != std::floor(number->value)) return std::nullopt;
  return static_cast<std::int64_t>(number->value);
}

std::optional<double> seconds_after(std::string_view line,
                                    std::string_view key,
                                    double without_unit) {
  const auto number = number_after(line, key);
  if (!number) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 8> units{{{"s", 1},
                                                                      {"ms", 1e-3},
                                                                      {"us", 1e-6},
                                                                      {"sec", 1},
                                                                      {"seconds", 1},
                                                                      {"min", 60},
                                                                      {"m", 60},
                                                                      {"h", 3600}}};
  for (const auto& [unit, factor] : units) {
    if (number->unit == unit) return number->value * factor;
  }
  return number->value * without_unit;
}

std::optional<std::pair<std::int64_t, std::int64_t>> progress_of(std::string_view text) {
  text = trimmed(text);
  const std::size_t first = digits_from(text, 0);
  if (first == 0 || first > 15) return std::nullopt;
  const std::size_t slash = text.find_first_not_of(' ', first);
  if (slash == std::string_view::npos || text[slash] != '/') return std::nullopt;
  const std::size_t second = text.find_first_not_of(' ', slash + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::size_t length = digits_from(text, second);
  if (length == 0 || length > 15) return std::nullopt;
  return std::pair{*small_integer(text.substr(0, first)),
                   *small_integer(text.substr(second, length))};
}

std::optional<double> clock_seconds(std::string_view text) {
  text = trimmed(text);
  double seconds = 0;
  const std::size_t day = text.find(" day");
  if (day != std::string_view::npos) {
    const auto days = number_of(trimmed(text.substr(0, day)));
    if (!days || *days < 0 || *days > 1e5) return std::nullopt;
    seconds = *days * 86400;
    const std::size_t comma = text.find(',', day);
    if (comma == std::string_view::npos) return seconds;
    text = trimmed(text.substr(comma + 1));
  }
  const auto fields = split(text, ':');
  if (fields.size() < 2 || fields.size() > 3) return std::nullopt;
  double clock = 0;
  for (const std::string_view field : fields) {
    const auto value = field.empty() || !is_digit(field[0]) ? std::nullopt : number_of(field);
    if (!value || *value > 1e6) return std::nullopt;
    clock = clock * 60 + *value;
  }
  return seconds + clock;
}

std::optional<double> time_stamp(std::string_view line) {
  // YYYY-MM-DD?HH:MM:SS
  for (std::size_t at = line.find("20"); at != std::string_view::npos && at + 19 <= line.size();
       at = line.find("20", at + 1)) {
    const std::string_view t = line.substr(at, 19);
    const bool shape = (t[4] == '-' || t[4] == '/') && t[7] == t[4] && t[13] == ':' &&
                       t[16] == ':' && (t[10] == ' ' || t[10] == 'T');
    if (!shape || (at > 0 && is_digit(line[at - 1]))) continue;
    const auto field = [&](std::size_t from, std::size_t size) {
      return small_integer(t.substr(from, size));
    };
    const auto year = field(0, 4), month = field(5, 2), day = field(8, 2);
    const auto hour = field(11, 2), minute = field(14, 2), second = field(17, 2);
    if (!year || !month || !day || !hour || !minute || !second) continue;
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                           std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) continue;
    double seconds =
        static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) * 86400 +
        static_cast<double>(*hour * 3600 + *minute * 60 + *second);
    const std::string_view rest = line.substr(at + 19);
    if (rest.size() > 1 && (rest[0] == ',' || rest[0] == '.') && is_digit(rest[1])) {
      const std::size_t digits = std::min<std::size_t>(digits_from(rest, 1), 9);
      seconds += static_cast<double>(*small_integer(rest.substr(1, digits))) *
                 std::pow(10.0, -static_cast<double>(digits));
    }
    return seconds;
  }
  return std::nullopt;
}

std::optional<std::int64_t> rank_prefix(std::string_view line) {
  line = trimmed(line);
  const std::string_view first = line.substr(0, line.find_first_of(" \t"));
  std::string_view number;
  if (first.starts_with("[rank") || first.starts_with("[default")) {
    const std::size_t begin = first.find_first_of("0123456789");
    if (begin == std::string_view::npos) return std::nullopt;
    number = first.substr(begin, digits_from(first, begin));
  } else if (first.starts_with('[') && first.find("]<std") != std::string_view::npos) {
    const std::size_t comma = first.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    number = first.substr(comma + 1, digits_from(first, comma + 1));
  } else if (first.size() > 1 && first.size() < 7 && first.ends_with(':')) {
    number = first.substr(0, first.size() - 1);
  }
  return number.empty() || number.size() > 9 ? std::nullopt : small_integer(number);
}

double suffix_factor(std::string_view unit) {
  if (unit == "K") return 1e3;
  if (unit == "M") return 1e6;
  return unit == "B" ? 1e9 : 1;
}

}  // namespace stepsight
