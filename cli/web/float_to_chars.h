// std::to_chars for floating point, which libc++ 13 lacks and toml++ wants for its error messages.
#pragma once
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 14000

// NOLINTBEGIN(cert-dcl58-cpp)
namespace std {

inline to_chars_result copy_digits(char* first, char* last, const char* text) {
  const std::size_t length = std::strlen(text);
  if (static_cast<std::size_t>(last - first) < length) return {last, errc::value_too_large};
  std::memcpy(first, text, length);
  return {first + length, errc{}};
}

// The fewest digits that read back to the same value.
inline to_chars_result to_chars(char* first, char* last, double value) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return copy_digits(first, last, text);
}
inline to_chars_result to_chars(char* first, char* last, double value, chars_format) {
  return to_chars(first, last, value);
}
inline to_chars_result to_chars(char* first, char* last, double value, chars_format, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits < 17 ? digits : 17, value);
  return copy_digits(first, last, text);
}

}  // namespace std
// NOLINTEND(cert-dcl58-cpp)

#endif
