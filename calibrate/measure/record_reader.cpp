#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "calibrate/measure/record.h"
#include "model/errors.h"

namespace stepsight::calibrate {
namespace {

constexpr int max_depth = 64;

// A cursor over the text. Scalars come back as values; objects and arrays below the two levels that
// the format uses are walked over.
class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  ParsedFile file() {
    ParsedFile result;
    expect('{');
    members([&](std::string key) {
      if (peek() == '{') {
        result.sections.emplace_back(std::move(key), flat_object(1));
      } else if (peek() == '[' && key == "points") {
        elements([&] { result.points.push_back(flat_object(2)); });
      } else if (auto value = any_value(1)) {
        result.top.push_back({std::move(key), std::move(*value)});
      }
    });
    skip_space();
    if (at_ < text_.size()) fail("text after the end of the object");
    return result;
  }

 private:
  Record flat_object(int depth) {
    Record record;
    expect('{');
    members([&](std::string key) {
      if (auto value = any_value(depth + 1)) record.push_back({std::move(key), std::move(*value)});
    });
    return record;
  }

  // Calls `member(key)` with the cursor on each value; eats the closing brace.
  template <typename Member>
  void members(Member member) {
    if (accept('}')) return;
    do {
      std::string key = string();
      expect(':');
      member(std::move(key));
    } while (accept(','));
    expect('}');
  }

  template <typename Element>
  void elements(Element element) {
    expect('[');
    if (accept(']')) return;
    do {
      element();
    } while (accept(','));
    expect(']');
  }

  // nullopt for null and for whatever is not a scalar.
  std::optional<FieldValue> any_value(int depth) {
    if (depth > max_depth) fail("nested too deeply");
    switch (peek()) {
      case '{':
        expect('{');
        members([&](const std::string&) { any_value(depth + 1); });
        return std::nullopt;
      case '[':
        elements([&] { any_value(depth + 1); });
        return std::nullopt;
      case '"':
        return string();
      case 't':
        word("true");
        return true;
      case 'f':
        word("false");
        return false;
      case 'n':
        word("null");
        return std::nullopt;
      default:
        return number();
    }
  }

  FieldValue number() {
    const std::size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
    const char* first = text_.data() + at_;
    const char* last = text_.data() + end;
    std::int64_t whole = 0;
    double real = 0;
    at_ = end;
    if (const auto r = std::from_chars(first, last, whole); r.ec == std::errc{} && r.ptr == last) {
      return whole;
    }
    const auto r = std::from_chars(first, last, real);
    if (first == last || r.ec != std::errc{} || r.ptr != last || !std::isfinite(real)) {
      fail("expected a value");
    }
    return real;
  }

  std::string string() {
    std::string out;
    expect('"');
    while (true) {
      if (at_ >= text_.size()) fail("unterminated text");
      const char c = text_[at_++];
      if (c == '"') return out;
      out += c == '\\' ? escape() : c;
    }
  }

  // The writer escapes nothing outside ASCII, so a \u above 0x7f is not ours.
  char escape() {
    if (at_ >= text_.size()) fail("unterminated text");
    const char c = text_[at_++];
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meaning = "\"\\/\b\f\n\r\t";
    if (const auto i = letters.find(c); i != std::string_view::npos) return meaning[i];
    unsigned code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (c != 'u' || digits.size() != 4 || r.ptr != digits.data() + 4 || code > 0x7f) {
      fail("unknown escape");
    }
    at_ += 4;
    return static_cast<char>(code);
  }

  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) fail("expected a value");
    at_ += expected.size();
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }

  [[noreturn]] void fail(const std::string& what) const {
    const auto* const end =
        text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size()));
    const auto line = 1 + std::count(text_.begin(), end, '\n');
    throw UserError(std::string(name_) + ":" + std::to_string(line) + ": " + what +
                    " (not a measurement file?)");
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
};

}  // namespace

ParsedFile parse_measurement(std::string_view text, std::string_view name) {
  return Reader(text, name).file();
}

}  // namespace stepsight::calibrate
