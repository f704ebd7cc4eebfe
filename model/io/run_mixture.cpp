#include "model/io/run_mixture.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/io/builtin.h"
#include "model/io/model_file.h"

namespace stepsight {

namespace {

std::string letters_and_digits(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

// The number that ends before `words` in a text: 1 of "..., 1 dense layer"; `usual` where there is
// none.
std::int64_t number_before(const std::string& text, std::string_view words, std::int64_t usual) {
  const std::size_t end = text.find(words);
  if (end == std::string::npos) return usual;
  std::size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  if (begin == end || end - begin > 6) return usual;
  return std::strtol(text.substr(begin, end - begin).c_str(), nullptr, 10);
}

bool agrees(const MeasuredRun& run, const ModelShape& s) {
  const auto same = [](const std::optional<std::int64_t>& said, std::int64_t known) {
    return !said || *said == known;
  };
  return same(run.hidden, s.hidden) && same(run.heads, s.heads) && same(run.kv_heads, s.kv_heads) &&
         same(run.vocab, s.vocab) && same(run.ffn, s.ffn) &&
         number_before(run.family, " experts", s.experts) == s.experts;
}

}  // namespace

std::optional<ModelShape> mixture_of(const MeasuredRun& run) {
  const std::string name = letters_and_digits(run.model.substr(0, run.model.find(' ')));
  for (const std::string_view known : builtin_names("models")) {
    if (letters_and_digits(known) != name) continue;
    ModelShape s = read_model(std::string(known));
    if (s.experts == 0 || !agrees(run, s)) return std::nullopt;
    s.layers = run.layers.value_or(s.layers);
    s.dense_layers = number_before(run.family, " dense layer", s.dense_layers);
    return s;
  }
  return std::nullopt;
}

}  // namespace stepsight
