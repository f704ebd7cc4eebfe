// JSON through nlohmann's event interface: no tree of its own, positions from counting the bytes
// it has taken, depth bounded here.
#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "model/errors.h"
#include "model/io/value.h"

namespace stepsight {
namespace {

constexpr std::size_t deepest_value = 64;

// Hands the text to the parser byte by byte and tells how far it came: the events carry no place.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  const char** reached_;
};

// Builds the Value while the parser reports events. Only keys have an exact place (their closing
// quote has just been taken); a value stands where its key does, an array item where it was read.
class Builder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Builder(const std::string& file, std::string_view text)
      : file_(file), text_(text), reached(text.data()), counted_(text.data()) {}

  bool null() { return put(OtherValue{null_name}); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(number_integer_t value) { return put(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) {
    if (value > static_cast<number_unsigned_t>(INT64_MAX))
      fail(here(), "this integer is too large");
    return put(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) { return put(value); }
  bool string(string_t& value) { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) { return put(OtherValue{"binary data"}); }
  bool start_object(std::size_t /*elements*/) { return open(Members{}); }
  bool start_array(std::size_t /*elements*/) { return open(Array{}); }
  bool end_array() { return close(); }

  bool key(string_t& name) {
    Position at = here();
    const auto width = static_cast<std::uint32_t>(std::min<std::size_t>(name.size() + 2, 1u << 20));
    at.column = at.column > width ? at.column - width : 1;
    std::get<Members>(open_.back()->data).push_back({std::move(name), at, {}});
    return true;
  }

  bool end_object() {
    const auto& members = std::get<Members>(open_.back()->data);
    std::vector<const Member*> sorted;
    sorted.reserve(members.size());
    for (const Member& member : members) sorted.push_back(&member);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Member* a, const Member* b) {
      return a->key < b->key;
    });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i]->key == sorted[i - 1]->key) {
        fail(sorted[i]->at, "the key '" + sorted[i]->key + "' appears twice");
      }
    }
    return close();
  }

  template <typename Exception>
  bool parse_error(std::size_t offset, const std::string& /*token*/, const Exception& error) {
    const std::size_t end = std::min(offset > 0 ? offset - 1 : 0, text_.size());
    Position at{1, 1};
    for (std::size_t i = 0; i < end; ++i) advance(at, text_[i]);
    // nlohmann puts its own id and place in front: "[json.exception...] parse error at line ...: ".
    std::string message = error.what();
    const std::size_t detail = message.find(": ");
    if (detail != std::string::npos) message.erase(0, detail + 2);
    fail(at, message);
  }

  Value take() { return std::move(root_); }

 private:
  static void advance(Position& at, char c) {
    if (c == '\n') {
      at = {at.line + 1, 1};
    } else {
      ++at.column;
    }
  }

  Position here() {
    for (; counted_ < reached; ++counted_) advance(place_, *counted_);
    return place_;
  }

  [[noreturn]] void fail(Position at, const std::string& message) const {
    throw UserError(locate(file_, at, message));
  }

  template <typename T>
  Value* place(T&& data) {
    if (open_.empty()) {
      root_ = {std::forward<T>(data), {1, 1}};
      return &root_;
    }
    if (auto* array = std::get_if<Array>(&open_.back()->data)) {
      array->push_back({std::forward<T>(data), here()});
      return &array->back();
    }
    Member& member = std::get<Members>(open_.back()->data).back();
    member.value = {std::forward<T>(data), member.at};
    return &member.value;
  }
  template <typename T>
  bool put(T&& data) {
    place(std::forward<T>(data));
    return true;
  }
  template <typename T>
  bool open(T&& data) {
    if (open_.size() >= deepest_value) fail(here(), "this value is nested too deep");
    // Pointers into the parents stay valid: a parent grows only after this child was closed.
    open_.push_back(place(std::forward<T>(data)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& file_;
  std::string_view text_;

 public:
  const char* reached;  // how far the parser has read

 private:
  const char* counted_;
  Position place_{1, 1};
  Value root_;
  std::vector<Value*> open_;
};

}  // namespace

Value parse_json(const std::string& file, std::string_view text) {
  Builder builder(file, text);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &builder.reached),
                            CountingIterator(text.data() + text.size(), &builder.reached),
                            &builder);
  return builder.take();
}

}  // namespace stepsight
