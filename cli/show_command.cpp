#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/profiles.h"
#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/model_file.h"
#include "model/nearest.h"
#include "reports/show_report.h"
#include "simulate/link.h"

namespace stepsight {

namespace {

struct ShowFlags {
  std::string what;
  std::string name;
  std::string output;
  bool json = false;
};

std::string show_models(const ShowFlags& flags) {
  if (!flags.name.empty()) {
    const ModelShape model = read_model(flags.name);
    return flags.json ? models_json({&model, 1}) : model_text(model);
  }
  std::vector<ModelShape> models;
  for (const std::string& name : known_names("models", ".toml")) models.push_back(read_model(name));
  return flags.json ? models_json(models) : models_text(models);
}

// Cards: every one with vendor's figures. Profiles: those that were fitted.
std::vector<GpuProfile> read_all(const std::string& folder, const std::string& name) {
  std::vector<GpuProfile> out;
  if (!name.empty()) return {read_profile(name)};
  for (const std::string& known : known_names(folder, ".toml")) out.push_back(read_profile(known));
  return out;
}

// Only the curves of the link that was asked for.
std::vector<GpuProfile> with_link(std::vector<GpuProfile> profiles, const std::string& name) {
  std::vector<std::string> known;
  for (GpuProfile& profile : profiles) {
    for (const std::string& link : link_names(profile)) known.push_back(link);
    std::erase_if(profile.collectives, [&](const CollectiveCurve& c) { return c.link != name; });
  }
  if (std::ranges::find(known, name) != known.end()) return profiles;
  const std::vector<std::string_view> views(known.begin(), known.end());
  std::string message = "no profile has a link `" + name + "`";
  if (const auto near = nearest(name, views))
    message += "; did you mean `" + std::string(*near) + "`?";
  throw UserError(message + "\n  see `stepsight show links`");
}

std::string show_links(const ShowFlags& flags, std::vector<GpuProfile> profiles) {
  if (flags.name.empty()) return flags.json ? links_json(profiles) : links_text(profiles);
  const std::vector<GpuProfile> chosen = with_link(std::move(profiles), flags.name);
  return flags.json ? links_json(chosen) : link_text(flags.name, chosen);
}

std::string show(const ShowFlags& flags) {
  if (flags.what == "models") return show_models(flags);
  std::vector<GpuProfile> all =
      read_all(flags.what == "gpus" ? "gpus" : "profiles", flags.what == "links" ? "" : flags.name);
  if (flags.what == "links") return show_links(flags, std::move(all));
  if (flags.json) return profiles_json(all);
  if (flags.what == "gpus") return gpus_text(all);
  return flags.name.empty() ? profiles_text(all) : profile_report_text(all.front());
}

}  // namespace

void add_show_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command = app.add_subcommand("show", "What is built in, and what a profile says");
  command->add_option("what", flags->what, "models, gpus, links or profiles")
      ->required()
      ->check(CLI::IsMember({"models", "gpus", "links", "profiles"}));
  command->add_option("name", flags->name, "one of them: its details");
  command->add_flag("--json", flags->json, "for machines");
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer("Example:\n  stepsight show profiles h200-sxm");
  command->callback([flags] { write_output(flags->output, show(*flags)); });
}

}  // namespace stepsight
