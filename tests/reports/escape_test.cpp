#include "reports/escape.h"

#include <nlohmann/json.hpp>

#include "tests/catch2.h"

namespace stepsight {

namespace {

const std::string nasty = "</script><script>alert(\"1\")</script>&'|`*[x](javascript:y)\n\t\\";

}  // namespace

TEST_CASE("a JSON string gives its text back, and cannot end the script that it stands in") {
  for (const std::string& text :
       {nasty, std::string("\x01\x1f\x7f"), std::string("中文 \xE2\x80\xA8 \xE2\x80\xA9")}) {
    const std::string escaped = json_string(text);
    CHECK(nlohmann::json::parse(escaped).get<std::string>() == text);
    CHECK(escaped.find('<') == std::string::npos);
    CHECK(escaped.find("\xE2\x80\xA8") == std::string::npos);
  }
}

TEST_CASE("text for HTML has no character that begins markup or ends an attribute") {
  const std::string escaped = html_text(nasty);
  for (const char c : {'<', '>', '"', '\''}) CHECK(escaped.find(c) == std::string::npos);
  CHECK(escaped.starts_with("&lt;/script&gt;"));
  CHECK(html_text("a & b") == "a &amp; b");
  CHECK(html_text(std::string("a\0b\x1b", 4)) == "ab");
}

TEST_CASE("text for Markdown stays one line, begins no markup and no table cell") {
  const std::string escaped = markdown_text(nasty);
  CHECK(escaped.find('\n') == std::string::npos);
  CHECK(escaped.find('<') == std::string::npos);
  CHECK(markdown_text("a|b") == "a\\|b");
  CHECK(markdown_text("[x](y)") == "\\[x\\](y)");
}

TEST_CASE("bytes that are not UTF-8 become the replacement character") {
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(valid_utf8("a\xFFz") == "a" + bad + "z");
  CHECK(valid_utf8("\xC0\xAF") == bad + bad);            // overlong
  CHECK(valid_utf8("\xED\xA0\x80") == bad + bad + bad);  // a surrogate
  CHECK(valid_utf8("\xE4\xB8") == bad + bad);            // cut off
  CHECK(valid_utf8("中") == "中");
  CHECK(html_text("\xFF<") == bad + "&lt;");
}

}  // namespace stepsight
