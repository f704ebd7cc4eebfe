#include "cli/report_answer.h"

#include "cli/scenario_text.h"
#include "model/io/model_error_file.h"
#include "simulate/scaling_curve.h"

namespace stepsight {

namespace {

constexpr std::size_t timeline_slices = 20'000;  // a page draws fewer

}  // namespace

ScenarioReport answer_report(const ScenarioFile& file,
                             Profiles& profiles,
                             std::vector<std::string> notes) {
  ScenarioReport out;
  out.title = file.title;
  out.axes = file.axes;
  out.coordinates = coordinates_of(file);
  out.notes = std::move(notes);
  const ProfileOf profile_of = [&](const std::string& name) -> const GpuProfile& {
    return profiles.get(name);
  };
  out.sweep = quick_study(file.points, profile_of, 0);
  const Scenario& focus = file.points[focus_of(file.points)];
  const GpuProfile& gpu = profiles.get(focus.cluster.gpu);
  note_link(focus, gpu, out.notes);
  const ModelError error = read_model_error();
  out.curve = scaling_curve(focus, gpu, error);
  out.focus = out.curve.back();
  if (out.focus.money) out.larger = larger_counts(focus, gpu, error);
  out.trace = trace_step(focus, gpu, timeline_slices);
  return out;
}

ScenarioReport answer_report(ScenarioFlags flags, Profiles& profiles) {
  std::vector<std::string> notes;
  choose_link(flags, profiles, notes);
  ScenarioReport out = answer_report(read_question(flags, "report"), profiles, std::move(notes));
  out.scenario_text = scenario_text_of(flags);
  out.command = command_of(flags);
  return out;
}

}  // namespace stepsight
