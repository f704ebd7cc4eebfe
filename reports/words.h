// What reports and verdicts say, in the reader's language: one catalogue file a language
// (reports/words_en.cpp, reports/words_zh.cpp), the same keys in each.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace stepsight {

// A text with the places of its values: "{gpus} GPUs take {step}", named as whoever says it names
// them.
struct Phrase {
  std::string_view key;
  std::string_view text;
};

std::span<const Phrase> english_words();
std::span<const Phrase> chinese_words();

// The codes that --lang takes.
std::vector<std::string> language_names();

class Words {
 public:
  // `language`: "en" or "zh". UserError for another one.
  explicit Words(std::string_view language = "en");

  [[nodiscard]] const std::string& language() const { return language_; }
  // std::logic_error for a key that the catalogue lacks.
  [[nodiscard]] std::string_view text(std::string_view key) const;
  [[nodiscard]] std::string operator()(std::string_view key) const {
    return std::string(text(key));
  }
  // With fmt::arg("name", value) for each place.
  template <typename... Args>
  [[nodiscard]] std::string operator()(std::string_view key, const Args&... args) const {
    return fmt::format(fmt::runtime(text(key)), args...);
  }

 private:
  std::string language_;
  std::span<const Phrase> phrases_;
};

}  // namespace stepsight
