#include "reports/question.h"

#include <fmt/format.h>

#include "reports/predict_report.h"

namespace stepsight {

std::string batch_words(const Scenario& s, const Words& words) {
  const Training& t = s.training;
  const bool fixed = t.global_batch > 0;
  const bool images = takes_images(s.model.family);
  const char* key = fixed ? (images ? "question.global_images" : "question.global_tokens")
                          : (images ? "question.images" : "question.tokens");
  return words(key, fmt::arg("batch", fixed ? t.global_batch : t.batch), fmt::arg("seq", t.seq));
}

std::string split_words(const Parallel& p, const Words& words) {
  std::string out(strategy_names[static_cast<std::size_t>(p.strategy)]);
  const auto add = [&](const char* key, std::int64_t ways) {
    if (ways > 1) out.append(words.text("list.comma")).append(words(key, fmt::arg("n", ways)));
  };
  add("question.tensor", p.tensor);
  add("question.context", p.context);
  add("question.expert", p.expert);
  add("question.pipeline", p.pipeline);
  return out;
}

void Taken::add(const Scenario& scenario) {
  (takes_images(scenario.model.family) ? images : tokens) = true;
}

std::string_view Taken::column() const {
  if (images && tokens) return "column.either";
  return images ? "column.images" : "column.tokens";
}

std::string link_words(const Cluster& cluster, const Words& words) {
  if (cluster.link_speed == 1) return cluster.link;
  return words("question.link_speed",
               fmt::arg("link", cluster.link),
               fmt::arg("factor", fmt::format("{:g}", cluster.link_speed)));
}

std::string question_line(const Scenario& s, const GpuProfile& gpu, const Words& words) {
  const Training& t = s.training;
  const std::string_view comma = words.text("list.comma");
  std::string out = s.model.name;
  const auto add = [&](std::string_view text) { out.append(comma).append(text); };
  add(name_of(t.precision));
  if (t.compile) add(words.text("question.compiled"));
  add(optimizer_names[static_cast<std::size_t>(t.optimizer)]);
  add(batch_words(s, words));
  if (t.accumulation > 1) add(words("question.micro_steps", fmt::arg("n", t.accumulation)));
  out.append(words.text("list.semicolon"))
      .append(fmt::format("{} x {}", s.cluster.gpus, gpu.title));
  if (!s.cluster.link.empty()) add(link_words(s.cluster, words));
  if (s.cluster.gpus > 1) add(split_words(s.parallel, words));
  return out;
}

}  // namespace stepsight
