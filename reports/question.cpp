#include "reports/question.h"

#include <fmt/format.h>

#include "reports/predict_report.h"

namespace stepsight {

std::string split_words(const Parallel& p) {
  std::string out(strategy_names[static_cast<std::size_t>(p.strategy)]);
  const auto add = [&](const char* name, std::int64_t ways) {
    if (ways > 1) out += fmt::format(", {} {}", name, ways);
  };
  add("tensor", p.tensor);
  add("context", p.context);
  add("expert", p.expert);
  add("pipeline", p.pipeline);
  return out;
}

std::string link_words(const Cluster& cluster) {
  if (cluster.link_speed == 1) return cluster.link;
  return fmt::format("{} at {:g} times its bandwidth", cluster.link, cluster.link_speed);
}

std::string question_line(const Scenario& s, const GpuProfile& gpu) {
  const Training& t = s.training;
  std::string out = fmt::format("{}, {}, ", s.model.name, name_of(t.precision));
  if (t.compile) out += "compiled, ";
  out += fmt::format("{}, ", optimizer_names[static_cast<std::size_t>(t.optimizer)]);
  out += takes_images(s.model.family) ? fmt::format("{} images", t.batch)
                                      : fmt::format("{} x {} tokens", t.batch, t.seq);
  out += " on each GPU";
  if (t.accumulation > 1) out += fmt::format(", {} micro-steps a step", t.accumulation);
  out += fmt::format("; {} x {}", s.cluster.gpus, gpu.title);
  if (!s.cluster.link.empty()) out += ", " + link_words(s.cluster);
  if (s.cluster.gpus > 1) out += ", " + split_words(s.parallel);
  return out;
}

}  // namespace stepsight
