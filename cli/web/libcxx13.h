// What libc++ 13, emscripten 3.1.6's, lacks of the C++20 that we use: included before every source
// of the page's program. Nothing where the library has grown it.
#pragma once
#include <version>
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>

namespace std {

// [bit.cast]
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

// [charconv.from.chars] of a double: a sign only where it is a minus, no space, no hexadecimal
// digits.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const char* end = first;
  while (end != last && (('0' <= *end && *end <= '9') || *end == '.' || *end == 'e' ||
                         *end == 'E' || *end == '-' || (*end == '+' && end != first) ||
                         ('a' <= (*end | 0x20) && (*end | 0x20) <= 'z'))) {
    ++end;
  }
  const string text(first, end);  // strtod reads to a terminating zero
  const size_t digits = text.starts_with('-') ? 1 : 0;
  if (text.size() > digits + 1 && text[digits] == '0' && (text[digits + 1] | 0x20) == 'x') {
    value = digits == 0 ? 0.0 : -0.0;
    return {first + digits + 1, errc{}};
  }
  char* stop = nullptr;
  errno = 0;
  const double read = strtod(text.c_str(), &stop);
  if (stop == text.c_str()) return {first, errc::invalid_argument};
  const char* const at = first + (stop - text.c_str());
  if (errno == ERANGE) return {at, errc::result_out_of_range};
  value = read;
  return {at, errc{}};
}

namespace ranges {

// [algorithms], over whole ranges: the ones that we call. A comparison is of projected elements.
template <class Compare, class Projection>
constexpr auto libcxx13_by(Compare& compare, Projection& projection) {
  return [&](auto&& a, auto&& b) {
    return static_cast<bool>(invoke(compare,
                                    invoke(projection, static_cast<decltype(a)>(a)),
                                    invoke(projection, static_cast<decltype(b)>(b))));
  };
}
template <class Test, class Projection>
constexpr auto libcxx13_if(Test& test, Projection& projection) {
  return [&](auto&& a) {
    return static_cast<bool>(invoke(test, invoke(projection, static_cast<decltype(a)>(a))));
  };
}

template <class R, class C = less, class P = identity>
constexpr auto sort(R&& r, C compare = {}, P projection = {}) {
  std::sort(begin(r), end(r), libcxx13_by(compare, projection));
  return end(r);
}
template <class R, class C = less, class P = identity>
auto stable_sort(R&& r, C compare = {}, P projection = {}) {
  std::stable_sort(begin(r), end(r), libcxx13_by(compare, projection));
  return end(r);
}
template <class R, class C = less, class P = identity>
constexpr auto nth_element(R&& r, iterator_t<R> nth, C compare = {}, P projection = {}) {
  std::nth_element(begin(r), nth, end(r), libcxx13_by(compare, projection));
  return end(r);
}
template <class R, class C = less, class P = identity>
constexpr auto max_element(R&& r, C compare = {}, P projection = {}) {
  return std::max_element(begin(r), end(r), libcxx13_by(compare, projection));
}
template <class R, class C = less, class P = identity>
constexpr auto min_element(R&& r, C compare = {}, P projection = {}) {
  return std::min_element(begin(r), end(r), libcxx13_by(compare, projection));
}
template <class R, class C = less, class P = identity>
constexpr auto max(R&& r, C compare = {}, P projection = {}) {
  return *ranges::max_element(r, compare, projection);
}
template <class R, class T, class P = identity>
constexpr auto find(R&& r, const T& value, P projection = {}) {
  auto at = begin(r);
  while (at != end(r) && !(invoke(projection, *at) == value)) ++at;
  return at;
}
template <class R, class T, class P = identity>
constexpr auto find_if(R&& r, T test, P projection = {}) {
  return std::find_if(begin(r), end(r), libcxx13_if(test, projection));
}
template <class R, class T, class P = identity>
constexpr bool any_of(R&& r, T test, P projection = {}) {
  return std::any_of(begin(r), end(r), libcxx13_if(test, projection));
}
template <class R, class T, class P = identity>
constexpr bool all_of(R&& r, T test, P projection = {}) {
  return std::all_of(begin(r), end(r), libcxx13_if(test, projection));
}
template <class R, class T, class P = identity>
constexpr bool none_of(R&& r, T test, P projection = {}) {
  return std::none_of(begin(r), end(r), libcxx13_if(test, projection));
}
template <class R, class T, class P = identity>
constexpr auto count_if(R&& r, T test, P projection = {}) {
  return std::count_if(begin(r), end(r), libcxx13_if(test, projection));
}
template <class R, class T>
constexpr auto count(R&& r, const T& value) {
  return std::count(begin(r), end(r), value);
}
template <class R, class T, class C = less, class P = identity>
constexpr auto lower_bound(R&& r, const T& value, C compare = {}, P projection = {}) {
  return std::lower_bound(begin(r), end(r), value, [&](auto&& a, const T& b) {
    return invoke(compare, invoke(projection, static_cast<decltype(a)>(a)), b);
  });
}
template <class R, class T, class C = less, class P = identity>
constexpr auto upper_bound(R&& r, const T& value, C compare = {}, P projection = {}) {
  return std::upper_bound(begin(r), end(r), value, [&](const T& a, auto&& b) {
    return invoke(compare, a, invoke(projection, static_cast<decltype(b)>(b)));
  });
}
template <class R, class T>
constexpr bool binary_search(R&& r, const T& value) {
  return std::binary_search(begin(r), end(r), value);
}
template <class R, class S>
constexpr bool equal(R&& a, S&& b) {
  return std::equal(begin(a), end(a), begin(b), end(b));
}
template <class R, class T>
constexpr void replace(R&& r, const T& from, const T& to) {
  std::replace(begin(r), end(r), from, to);
}
template <class R>
constexpr void reverse(R&& r) {
  std::reverse(begin(r), end(r));
}
template <class R, class Out>
constexpr Out copy(R&& r, Out out) {
  return std::copy(begin(r), end(r), out);
}
template <class R, class Out, class T>
constexpr Out copy_if(R&& r, Out out, T test) {
  return std::copy_if(begin(r), end(r), out, test);
}
template <class R, class Out>
constexpr Out move(R&& r, Out out) {
  return std::move(begin(r), end(r), out);
}
template <class R, class Out, class F>
constexpr Out transform(R&& r, Out out, F change) {
  return std::transform(begin(r), end(r), out, change);
}

}  // namespace ranges
}  // namespace std
#endif
