#include "reports/terminal_style.h"

#include "tests/catch2.h"

namespace stepsight {

namespace {

std::string without_sequences(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    while (i < text.size() && text[i] != 'm') ++i;
  }
  return out;
}

}  // namespace

TEST_CASE("colours add nothing but colours") {
  const std::string text =
      "GPUs  step\n----  ----\n   1  5 ms\n\nmatrix products  72 ms  62 %  ####\n###\nDOES NOT "
      "FIT: 9 GB\n# x #\nend";
  const std::string coloured = with_colours(text);
  CHECK(without_sequences(coloured) == text);
  CHECK(coloured.find("\x1b[36m####\x1b[0m\n") != std::string::npos);
  CHECK(coloured.find("\x1b[1;31mDOES NOT FIT:\x1b[0m 9 GB") != std::string::npos);
  CHECK(with_colours("显存不足：需要 9 GB") == "\x1b[1;31m显存不足：\x1b[0m需要 9 GB");
  CHECK(with_colours("") == "");
  CHECK(with_colours("plain text\n") == "plain text\n");
}

}  // namespace stepsight
