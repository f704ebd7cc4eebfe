#include "model/io/table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/nearest.h"

namespace stepsight {
namespace {

// Files are hostile: neither the edit distance nor a message gets a name of a megabyte.
constexpr std::size_t longest_shown = 60;

std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, longest_shown)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    result += control ? '?' : c;
  }
  if (text.size() > longest_shown) result += "...";
  return result;
}

std::string describe(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return '"' + shown(*text) + '"';
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    return std::to_string(*integer);
  }
  if (const auto* number = std::get_if<double>(&value.data)) return fmt::format("{}", *number);
  if (const auto* boolean = std::get_if<bool>(&value.data)) return *boolean ? "true" : "false";
  return std::string(kind_name(value));
}

std::string quoted(const ValueName& name) {
  return fmt::format("'{}'{}{}", shown(name.key), name.where.empty() ? "" : " ", name.where);
}

std::string range(std::string_view kind, double least, double most, bool bounded) {
  if (!bounded) return fmt::format("{} of at least {:.10g}", kind, least);
  return fmt::format("{} from {:.10g} to {:.10g}", kind, least, most);
}

void note(ErrorList& errors,
          const Value& value,
          const ValueName& name,
          const std::string& expected) {
  errors.add(value.at,
             fmt::format("{} must be {}, got {}", quoted(name), expected, describe(value)));
}

std::string join(std::span<const std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) {
    if (!list.empty()) list += ", ";
    list += word;
  }
  return list;
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string_view> names) {
  if (wanted.size() > longest_shown) return "";
  const std::optional<std::string_view> best = nearest(wanted, names);
  return best ? fmt::format("; did you mean '{}'?", *best) : "";
}

// The whole number that a value stands for, if it does: 4 and 4.0 are the same to a person.
std::optional<std::int64_t> whole(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return *integer;
  const auto* number = std::get_if<double>(&value.data);
  constexpr double exact = 9007199254740992.0;  // 2^53: beyond it doubles skip integers
  if (number == nullptr || !(std::abs(*number) <= exact) || *number != std::floor(*number)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

}  // namespace

std::optional<std::int64_t> check_int(const Value& value,
                                      const ValueName& name,
                                      std::int64_t least,
                                      std::int64_t most,
                                      ErrorList& errors) {
  const std::optional<std::int64_t> integer = whole(value);
  if (integer && *integer >= least && *integer <= most) return integer;
  const std::string expected =
      range("an integer", static_cast<double>(least), static_cast<double>(most), most != any_int);
  note(errors, value, name, expected);
  return std::nullopt;
}

std::optional<double> check_number(
    const Value& value, const ValueName& name, double least, double most, ErrorList& errors) {
  std::optional<double> number;
  if (const auto* real = std::get_if<double>(&value.data)) number = *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    number = static_cast<double>(*integer);
  }
  // Written so that NaN fails.
  if (number && std::isfinite(*number) && *number >= least && *number <= most) return number;
  note(errors, value, name, range("a number", least, most, most < any_number));
  return std::nullopt;
}

std::optional<bool> check_bool(const Value& value, const ValueName& name, ErrorList& errors) {
  if (const auto* boolean = std::get_if<bool>(&value.data)) return *boolean;
  note(errors, value, name, "true or false");
  return std::nullopt;
}

std::optional<std::string> check_string(const Value& value,
                                        const ValueName& name,
                                        ErrorList& errors) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text != nullptr && !text->empty() && text->find('\0') == std::string::npos) return *text;
  note(errors, value, name, "a string that is not empty");
  return std::nullopt;
}

std::optional<std::size_t> check_choice(const Value& value,
                                        const ValueName& name,
                                        std::span<const std::string_view> words,
                                        ErrorList& errors) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr) {
    note(errors, value, name, "one of " + join(words));
    return std::nullopt;
  }
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  errors.add(value.at,
             fmt::format("{} must be one of {}, got {}{}",
                         quoted(name),
                         join(words),
                         describe(value),
                         did_you_mean(*text, words)));
  return std::nullopt;
}

Table::Table(const Value& root, ErrorList& errors)
    : Table(std::get_if<Members>(&root.data), {1, 1}, "", errors) {
  if (members_ == nullptr) {
    errors.add({1, 1}, fmt::format("expected a table of keys, got {}", kind_name(root)));
  }
}

Table::Table(const Members* members, Position at, std::string name, ErrorList& errors)
    : members_(members), at_(at), name_(std::move(name)), errors_(&errors) {}

std::string Table::title() const {
  return name_.empty() ? "the file" : "[" + name_ + "]";
}

std::vector<std::string> Table::keys() const {
  std::vector<std::string> names;
  if (members_ == nullptr) return names;
  for (const Member& member : *members_) names.push_back(member.key);
  return names;
}

const Member* Table::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  if (members_ == nullptr) return nullptr;
  const auto found = std::find_if(
      members_->begin(), members_->end(), [&](const Member& member) { return member.key == key; });
  const bool absent =
      found == members_->end() || (std::holds_alternative<OtherValue>(found->value.data) &&
                                   std::get<OtherValue>(found->value.data).what == null_name);
  return absent ? nullptr : &*found;
}

const Member* Table::require(std::string_view key) {
  const Member* member = find(key);
  if (member == nullptr) errors_->add(at_, fmt::format("missing key '{}' in {}", key, title()));
  return member;
}

namespace {
std::string where(const Table& table) {
  const std::string title = table.title();
  return title == "the file" ? "" : "in " + title;
}
}  // namespace

std::int64_t Table::require_int(std::string_view key, std::int64_t least, std::int64_t most) {
  return require(key) == nullptr ? least : optional_int(key, least, most).value_or(least);
}

std::optional<std::int64_t> Table::optional_int(std::string_view key,
                                                std::int64_t least,
                                                std::int64_t most) {
  const Member* member = find(key);
  if (member == nullptr) return std::nullopt;
  return check_int(member->value, {key, where(*this)}, least, most, *errors_);
}

double Table::require_number(std::string_view key, double least, double most) {
  return require(key) == nullptr ? least : optional_number(key, least, most).value_or(least);
}

std::optional<double> Table::optional_number(std::string_view key, double least, double most) {
  const Member* member = find(key);
  if (member == nullptr) return std::nullopt;
  return check_number(member->value, {key, where(*this)}, least, most, *errors_);
}

bool Table::require_bool(std::string_view key) {
  return require(key) != nullptr && optional_bool(key).value_or(false);
}

std::optional<bool> Table::optional_bool(std::string_view key) {
  const Member* member = find(key);
  if (member == nullptr) return std::nullopt;
  return check_bool(member->value, {key, where(*this)}, *errors_);
}

std::string Table::require_string(std::string_view key) {
  return require(key) == nullptr ? "" : optional_string(key).value_or("");
}

std::optional<std::string> Table::optional_string(std::string_view key) {
  const Member* member = find(key);
  if (member == nullptr) return std::nullopt;
  return check_string(member->value, {key, where(*this)}, *errors_);
}

std::size_t Table::require_choice(std::string_view key, std::span<const std::string_view> words) {
  return require(key) == nullptr ? 0 : optional_choice(key, words).value_or(0);
}

std::optional<std::size_t> Table::optional_choice(std::string_view key,
                                                  std::span<const std::string_view> words) {
  const Member* member = find(key);
  if (member == nullptr) return std::nullopt;
  return check_choice(member->value, {key, where(*this)}, words, *errors_);
}

std::vector<double> Table::numbers(std::string_view key, double least, double most) {
  std::vector<double> result;
  const Member* member = find(key);
  if (member == nullptr) return result;
  const auto* items = std::get_if<Array>(&member->value.data);
  if (items == nullptr) {
    note(*errors_, member->value, {key, where(*this)}, "an array of numbers");
    return result;
  }
  result.reserve(items->size());
  for (const Value& item : *items) {
    const auto number = check_number(item, {key, where(*this)}, least, most, *errors_);
    result.push_back(number.value_or(least));
  }
  return result;
}

std::vector<std::string> Table::strings(std::string_view key) {
  std::vector<std::string> result;
  const Member* member = find(key);
  if (member == nullptr) return result;
  const auto* items = std::get_if<Array>(&member->value.data);
  if (items == nullptr) {
    note(*errors_, member->value, {key, where(*this)}, "an array of strings");
    return result;
  }
  result.reserve(items->size());
  for (const Value& item : *items) {
    result.push_back(check_string(item, {key, where(*this)}, *errors_).value_or(""));
  }
  return result;
}

Table Table::sub_table(std::string_view key) {
  std::string name = name_.empty() ? std::string(key) : name_ + "." + std::string(key);
  const Member* member = find(key);
  if (member == nullptr) return {nullptr, at_, std::move(name), *errors_};
  const auto* members = std::get_if<Members>(&member->value.data);
  if (members == nullptr) note(*errors_, member->value, {key, where(*this)}, "a table");
  return {members, member->at, std::move(name), *errors_};
}

std::vector<Table> Table::array_of_tables(std::string_view key) {
  std::vector<Table> tables;
  const Member* member = find(key);
  if (member == nullptr) return tables;
  const std::string name = name_.empty() ? std::string(key) : name_ + "." + std::string(key);
  const auto* items = std::get_if<Array>(&member->value.data);
  if (items == nullptr) {
    note(*errors_, member->value, {key, where(*this)}, "an array of tables ([[" + name + "]])");
    return tables;
  }
  for (const Value& item : *items) {
    const auto* members = std::get_if<Members>(&item.data);
    if (members == nullptr) {
      note(*errors_, item, {key, where(*this)}, "an array of tables ([[" + name + "]])");
    } else {
      tables.push_back({members, item.at, name, *errors_});
    }
  }
  return tables;
}

const Value* Table::value(std::string_view key) {
  const Member* member = find(key);
  return member == nullptr ? nullptr : &member->value;
}

Position Table::position_of(std::string_view key) const {
  if (members_ == nullptr) return at_;
  const auto found = std::find_if(
      members_->begin(), members_->end(), [&](const Member& member) { return member.key == key; });
  return found == members_->end() ? at_ : found->value.at;
}

void Table::mistake(std::string_view key, const std::string& message) {
  errors_->add(position_of(key), message);
}

void Table::finish() {
  if (members_ == nullptr) return;
  const std::vector<std::string_view> known(asked_.begin(), asked_.end());
  for (const Member& member : *members_) {
    if (errors_->full()) return;
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    const std::string_view kind =
        std::holds_alternative<Members>(member.value.data) ? "table" : "key";
    errors_->add(member.at,
                 fmt::format("unknown {} '{}' in {}{}",
                             kind,
                             shown(member.key),
                             title(),
                             did_you_mean(member.key, known)));
  }
}

}  // namespace stepsight
