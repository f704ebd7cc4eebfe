// One include for both majors of Catch2: 2.13 (Debian 12) and 3.x (Debian 13, Ubuntu 24.04).
#pragma once
#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
namespace match {
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
}  // namespace match
#else
#include <catch2/catch.hpp>
namespace match {
inline auto ContainsSubstring(const std::string& text) {
  return Catch::Matchers::Contains(text);
}
using Catch::Matchers::StartsWith;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
}  // namespace match
#endif
