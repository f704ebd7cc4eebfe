// What a report rests on: the timeline behind it, what was assumed, where the card's figures come
// from.
#include <algorithm>
#include <array>

#include "reports/certainty.h"
#include "reports/findings.h"
#include "reports/question.h"
#include "reports/scenario_page.h"
#include "reports/svg_chart.h"
#include "reports/text_table.h"

namespace stepsight {

Section timeline_section(const StepTrace& trace, const Words& words) {
  const double step = to_seconds(trace.end - trace.begin).value;
  Section out{"timeline", words("section.timeline"), {}};
  out.blocks.emplace_back(Paragraph{words("timeline.note")});
  const std::string description =
      words("timeline.describe", fmt::arg("step", format_seconds(step)));
  out.blocks.emplace_back(Picture{"timeline_chart",
                                  description,
                                  timeline_svg(trace, description, words),
                                  {{"forward", words("timeline.forward")},
                                   {"backward", words("timeline.backward")},
                                   {"sync", words("timeline.sync")},
                                   {"update", words("timeline.update")},
                                   {"message", words("timeline.message")},
                                   {"other", words("timeline.other")}}});
  DocTable table{"timeline",
                 "",
                 {{"ranks", words("column.ranks"), false},
                  {"track", words("column.track"), false},
                  {"busy_s", words("column.busy"), true},
                  {"share", words("column.share"), true}},
                 {}};
  for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const double busy = busy_seconds(trace, t);
    table.rows.push_back({said(trace.tracks[t].process, words),
                          said(trace.tracks[t].name, words),
                          Cell{format_seconds(busy), busy},
                          Cell{format_percent(busy / step), busy / step}});
  }
  out.blocks.emplace_back(std::move(table));
  return out;
}

// Which input the answer hangs on most, and what would settle it.
Section sensitivity_section(const Uncertainty& u, const Words& words) {
  constexpr std::array<const char*, 3> origins{"origin.measured", "origin.between", "origin.class"};
  Section out{"sensitivity", words("section.sensitivity"), {}};
  if (const Contribution* weakest = weakest_input(u)) {
    out.blocks.emplace_back(Paragraph{words("sensitivity.weakest",
                                            fmt::arg("input", input_words(weakest->input, words)),
                                            fmt::arg("share", format_percent(weakest->share, 0)))});
    if (!weakest->command.empty()) {
      out.blocks.emplace_back(Paragraph{words("sensitivity.measure")});
      out.blocks.emplace_back(Code{"measure", weakest->command});
    }
  }
  if (!u.inside_calibration) {
    out.blocks.emplace_back(
        Paragraph{words("sensitivity.outside", fmt::arg("what", outside_words(u.outside, words)))});
  }
  Chart chart{.id = "sensitivity_chart",
              .title = words("sensitivity.chart"),
              .kind = ChartKind::bars,
              .x_title = {},
              .y_title = {},
              .unit = "share",
              .categories = {},
              .x = {},
              .series = {},
              .labels = {}};
  ChartSeries shares{"log_sd", words("column.moves"), {}, {}, {}, false};
  DocTable table{"sensitivity",
                 "",
                 {{"input", words("column.input"), false},
                  {"log_sd", words("column.moves"), true},
                  {"variance_share", words("column.variance"), true},
                  {"origin", words("column.origin"), false},
                  {"command", words("column.command"), false}},
                 {}};
  for (const Contribution& c : u.contributions) {
    table.rows.push_back({input_words(c.input, words),
                          Cell{format_percent(c.log_sd), c.log_sd},
                          Cell{format_percent(c.share), c.share},
                          words(origins[static_cast<std::size_t>(c.origin)]),
                          c.command});
    if (c.share < 0.001) continue;
    chart.categories.push_back(input_words(c.input, words));
    shares.values.emplace_back(c.log_sd);
  }
  chart.series.push_back(std::move(shares));
  out.blocks.emplace_back(std::move(chart));
  out.blocks.emplace_back(std::move(table));
  return out;
}

Section assumptions_section(const StudyPoint& point,
                            const GpuProfile& gpu,
                            const std::vector<std::string>& notes,
                            const Words& words) {
  const Scenario& s = point.scenario;
  const Training& t = s.training;
  Section out{"assumptions", words("section.assumptions"), {}};
  DocTable table{"assumptions",
                 "",
                 {{"input", words("column.input"), false},
                  {"value", words("column.value"), false},
                  {"origin", words("column.origin"), false}},
                 {}};
  const auto add = [&](std::string input, std::string value, std::string origin) {
    table.rows.push_back({std::move(input), std::move(value), std::move(origin)});
  };
  const std::string scenario = words("origin.scenario");
  const auto number = [](std::int64_t n) { return format_count(static_cast<double>(n)); };
  const auto yes = [&](bool b) { return words(b ? "yes" : "no"); };
  const bool measured =
      std::ranges::any_of(gpu.records, [](const auto& r) { return r.points > 0; });
  add(words("input.model"),
      s.model.name,
      words("origin.parameters", fmt::arg("n", number(parameter_count(s.model)))));
  add(words("input.gpu"),
      fmt::format("{} x {}", s.cluster.gpus, gpu.title),
      measured           ? words("origin.measured")
      : gpu.like.empty() ? words("origin.class")
                         : words("origin.like", fmt::arg("card", gpu.like)));
  if (!s.cluster.link.empty()) add(words("input.link"), link_words(s.cluster, words), scenario);
  if (s.cluster.nodes > 1) add(words("input.nodes"), number(s.cluster.nodes), scenario);
  add(words("input.split"), split_words(s.parallel, words), scenario);
  add(words("input.batch"), fmt::format("{} x {}", t.batch, t.accumulation), words("origin.batch"));
  if (!takes_images(s.model.family)) add(words("input.seq"), number(t.seq), scenario);
  add(words("input.precision"), std::string(name_of(t.precision)), scenario);
  add(words("input.optimizer"),
      std::string(optimizer_names[static_cast<std::size_t>(t.optimizer)]),
      words(t.fused_optimizer ? "origin.fused" : "origin.loop"));
  add(words("input.recompute"),
      std::string(recompute_names[static_cast<std::size_t>(t.recompute)]),
      scenario);
  add(words("input.compile"), yes(t.compile), scenario);
  add(words("input.flash"), yes(t.flash_attention), scenario);
  if (s.parallel.strategy == Strategy::ddp && s.cluster.gpus > 1) {
    add(words("input.buckets"), fmt::format("{:g} MiB", s.parallel.bucket_cap_MB), scenario);
  }
  add(words("input.overlap"), yes(s.parallel.overlap), scenario);
  out.blocks.emplace_back(std::move(table));
  const double unmeasured = point.prediction.unmeasured_share;
  out.blocks.emplace_back(
      Paragraph{words("assumptions.unmeasured", fmt::arg("share", format_percent(unmeasured, 0)))});
  for (const std::string& note : notes) out.blocks.emplace_back(Paragraph{said(note, words)});
  return out;
}

Section profile_section(const GpuProfile& gpu, const Words& words) {
  Section out{"profile", words("section.profile"), {}};
  const auto measured =
      std::ranges::count_if(gpu.records, [](const auto& r) { return r.points > 0; });
  out.blocks.emplace_back(Paragraph{words("profile.note",
                                          fmt::arg("card", gpu.title),
                                          fmt::arg("measured", measured),
                                          fmt::arg("all", gpu.records.size()))});
  if (!gpu.quality.empty()) {
    DocTable fit{"profile",
                 words("profile.fit"),
                 {{"group", words("column.group"), false},
                  {"fitted_points", words("column.fitted"), true},
                  {"fitted_median_error", words("column.fitted_error"), true},
                  {"held_out_points", words("column.held_out"), true},
                  {"held_out_median_error", words("column.held_out_error"), true},
                  {"held_out_p90_error", words("column.held_out_p90"), true}},
                 {}};
    const auto share = [](double v) { return Cell{format_percent(v), v}; };
    const auto whole = [](int n) { return Cell{std::to_string(n), static_cast<double>(n)}; };
    for (const FitQuality& q : gpu.quality) {
      const bool held = q.held_out_points > 0;
      fit.rows.push_back({q.group,
                          whole(q.fitted_points),
                          share(q.fitted_median_error),
                          whole(q.held_out_points),
                          held ? share(q.held_out_median_error) : Cell("-"),
                          held ? share(q.held_out_p90_error) : Cell("-")});
    }
    fit.folded = fit.rows.size() > 12;
    out.blocks.emplace_back(std::move(fit));
  }
  if (!gpu.sources.empty()) {
    std::string sources;
    for (const std::string& s : gpu.sources) sources += (sources.empty() ? "" : ", ") + s;
    out.blocks.emplace_back(Paragraph{words("profile.sources", fmt::arg("list", sources))});
  }
  return out;
}

}  // namespace stepsight
