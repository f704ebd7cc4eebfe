// Included before everything else when the page's simulator is compiled: what C++20 has and the standard
// library of Debian's emscripten (libc++ 13) lacks, as far as this project uses it. A later libc++ brings
// its own, and this file then says nothing.
#pragma once
#include <version>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <system_error>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000

// NOLINTBEGIN(cert-dcl58-cpp): names of namespace std, where the standard puts them.
namespace std {

// Decimal form only, as the project's readers want it: no blank, no "+", no hexadecimal.
template <typename Float>
  requires std::is_floating_point_v<Float>
from_chars_result from_chars(const char* first, const char* last, Float& value) {
  const char* end = first;
  while (end != last && std::strchr("0123456789+-.eEinfatyINFATY", *end) != nullptr) ++end;
  const std::string token(first, end);
  if (token.empty() || token.front() == '+') return {first, errc::invalid_argument};
  char* stop = nullptr;
  const double parsed = std::strtod(token.c_str(), &stop);
  const auto used = stop - token.c_str();
  if (used == 0) return {first, errc::invalid_argument};
  const bool overflow = parsed > 1.7e308 || parsed < -1.7e308;
  if (overflow && token.find_first_of("iI") == std::string::npos) {
    return {first + used, errc::result_out_of_range};
  }
  value = static_cast<Float>(parsed);
  return {first + used, errc{}};
}

namespace ranges {

template <typename F, typename P>
auto projected(F& f, P& p) {
  return [&](auto&& x) -> decltype(auto) { return std::invoke(f, std::invoke(p, x)); };
}
template <typename C, typename P>
auto projected_order(C& c, P& p) {
  return [&](auto&& a, auto&& b) { return std::invoke(c, std::invoke(p, a), std::invoke(p, b)); };
}

template <typename R, typename F, typename P = identity>
bool all_of(R&& r, F f, P p = {}) {
  return std::all_of(std::begin(r), std::end(r), projected(f, p));
}
template <typename R, typename F, typename P = identity>
bool any_of(R&& r, F f, P p = {}) {
  return std::any_of(std::begin(r), std::end(r), projected(f, p));
}
template <typename R, typename F, typename P = identity>
bool none_of(R&& r, F f, P p = {}) {
  return std::none_of(std::begin(r), std::end(r), projected(f, p));
}
template <typename R, typename F, typename P = identity>
auto count_if(R&& r, F f, P p = {}) {
  return std::count_if(std::begin(r), std::end(r), projected(f, p));
}
template <typename R, typename T, typename P = identity>
auto count(R&& r, const T& v, P p = {}) {
  return std::count_if(std::begin(r), std::end(r), [&](auto&& x) { return std::invoke(p, x) == v; });
}
template <typename R, typename F, typename P = identity>
auto find_if(R&& r, F f, P p = {}) {
  return std::find_if(std::begin(r), std::end(r), projected(f, p));
}
template <typename R, typename F, typename P = identity>
auto find_if_not(R&& r, F f, P p = {}) {
  return std::find_if_not(std::begin(r), std::end(r), projected(f, p));
}
template <typename R, typename T, typename P = identity>
auto find(R&& r, const T& v, P p = {}) {
  return std::find_if(std::begin(r), std::end(r), [&](auto&& x) { return std::invoke(p, x) == v; });
}
template <typename R, typename F, typename P = identity>
auto for_each(R&& r, F f, P p = {}) {
  return std::for_each(std::begin(r), std::end(r), projected(f, p));
}
template <typename R, typename C = less, typename P = identity>
void sort(R&& r, C c = {}, P p = {}) {
  std::sort(std::begin(r), std::end(r), projected_order(c, p));
}
template <typename R, typename C = less, typename P = identity>
void stable_sort(R&& r, C c = {}, P p = {}) {
  std::stable_sort(std::begin(r), std::end(r), projected_order(c, p));
}
template <typename R, typename C = less, typename P = identity>
bool is_sorted(R&& r, C c = {}, P p = {}) {
  return std::is_sorted(std::begin(r), std::end(r), projected_order(c, p));
}
template <typename R, typename I, typename C = less, typename P = identity>
void nth_element(R&& r, I nth, C c = {}, P p = {}) {
  std::nth_element(std::begin(r), nth, std::end(r), projected_order(c, p));
}
template <typename R, typename T, typename C = less, typename P = identity>
auto lower_bound(R&& r, const T& v, C c = {}, P p = {}) {
  return std::lower_bound(std::begin(r), std::end(r), v, [&](auto&& x, const T& y) {
    return std::invoke(c, std::invoke(p, x), y);
  });
}
template <typename R, typename T, typename C = less, typename P = identity>
auto upper_bound(R&& r, const T& v, C c = {}, P p = {}) {
  return std::upper_bound(std::begin(r), std::end(r), v, [&](const T& y, auto&& x) {
    return std::invoke(c, y, std::invoke(p, x));
  });
}
template <typename R, typename T, typename C = less, typename P = identity>
bool binary_search(R&& r, const T& v, C c = {}, P p = {}) {
  const auto at = ranges::lower_bound(r, v, c, p);
  return at != std::end(r) && !std::invoke(c, v, std::invoke(p, *at));
}
#if _LIBCPP_VERSION < 14000
template <typename R, typename C = less, typename P = identity>
auto max_element(R&& r, C c = {}, P p = {}) {
  return std::max_element(std::begin(r), std::end(r), projected_order(c, p));
}
template <typename R, typename C = less, typename P = identity>
auto min_element(R&& r, C c = {}, P p = {}) {
  return std::min_element(std::begin(r), std::end(r), projected_order(c, p));
}
#endif
template <typename R, typename C = less, typename P = identity>
auto max(const R& r, C c = {}, P p = {}) {
  return *std::max_element(std::begin(r), std::end(r), projected_order(c, p));
}
template <typename R, typename C = less, typename P = identity>
auto min(const R& r, C c = {}, P p = {}) {
  return *std::min_element(std::begin(r), std::end(r), projected_order(c, p));
}
template <typename T>
struct min_max_result {
  T min, max;
};
template <typename R, typename C = less, typename P = identity>
auto minmax(const R& r, C c = {}, P p = {}) {
  const auto both = std::minmax_element(std::begin(r), std::end(r), projected_order(c, p));
  return min_max_result<std::decay_t<decltype(*both.first)>>{*both.first, *both.second};
}
template <typename I>
struct in_out {
  I out;
};
template <typename R, typename O, typename F, typename P = identity>
auto copy_if(R&& r, O out, F f, P p = {}) {
  return in_out<O>{std::copy_if(std::begin(r), std::end(r), out, projected(f, p))};
}
template <typename R, typename O>
auto copy(R&& r, O out) {
  return in_out<O>{std::copy(std::begin(r), std::end(r), out)};
}
template <typename R, typename O, typename F>
auto transform(R&& r, O out, F f) {
  return in_out<O>{std::transform(std::begin(r), std::end(r), out, [&](auto&& x) { return std::invoke(f, x); })};
}
template <typename R, typename T>
void replace(R&& r, const T& from, const T& to) {
  std::replace(std::begin(r), std::end(r), from, to);
}
template <typename R>
void reverse(R&& r) {
  std::reverse(std::begin(r), std::end(r));
}
template <typename R, typename T>
void fill(R&& r, const T& v) {
  std::fill(std::begin(r), std::end(r), v);
}
template <typename R, typename S>
bool equal(R&& r, S&& s) {
  return std::equal(std::begin(r), std::end(r), std::begin(s), std::end(s));
}
template <typename R, typename S, typename F>
bool equal(R&& r, S&& s, F f) {
  return std::equal(std::begin(r), std::end(r), std::begin(s), std::end(s), f);
}

}  // namespace ranges

namespace views {
struct Reverse {};
inline constexpr Reverse reverse;
template <typename R>
struct Reversed {
  R& range;
  auto begin() const { return std::rbegin(range); }
  auto end() const { return std::rend(range); }
};
template <typename R>
Reversed<R> operator|(R& range, Reverse) {
  return {range};
}
}  // namespace views

}  // namespace std
// NOLINTEND(cert-dcl58-cpp)

#endif
