#include "reports/words.h"

#include <algorithm>
#include <stdexcept>

#include "model/errors.h"

namespace stepsight {

std::vector<std::string> language_names() {
  return {"en", "zh"};
}

Words::Words(std::string_view language) : language_(language) {
  if (language == "en") {
    phrases_ = english_words();
  } else if (language == "zh") {
    phrases_ = chinese_words();
  } else {
    throw UserError("--lang " + std::string(language) + ": expected en or zh");
  }
}

std::string_view Words::text(std::string_view key) const {
  for (const Phrase& p : phrases_) {
    if (p.key == key) return p.text;
  }
  throw std::logic_error("no words for " + std::string(key));
}

}  // namespace stepsight
