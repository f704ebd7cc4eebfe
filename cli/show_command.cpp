#include <algorithm>
#include <iterator>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/profiles.h"
#include "model/errors.h"
#include "model/io/builtin.h"
#include "model/io/link_file.h"
#include "model/io/model_file.h"
#include "model/io/nccl_log.h"
#include "model/io/read_file.h"
#include "model/nearest.h"
#include "reports/link_report.h"
#include "reports/show_report.h"

namespace stepsight {

namespace {

struct ShowFlags {
  std::string what;
  std::string name;
  std::string output;
  std::string against;  // link: the log of a collective test
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

// Every curve that somebody measured: of a card's profile, or of a link by itself.
std::vector<LinkRow> measured_rows() {
  std::vector<LinkRow> rows;
  for (const GpuProfile& profile : read_all("profiles", "")) {
    for (const CollectiveCurve& curve : profile.collectives) rows.push_back({profile.name, curve});
  }
  for (const std::string& name : measured_link_names()) {
    const std::optional<MeasuredLink> link = read_measured_link(name);
    if (!link) continue;
    for (const CollectiveCurve& curve : link->curves) rows.push_back({"", curve});
  }
  return rows;
}

// What a class promises; nothing for a name that is no class.
std::vector<LinkRow> class_rows(const std::string& name) {
  std::vector<LinkRow> rows;
  const std::shared_ptr<const LinkFacts> facts = find_link(name, "");
  for (const CollectiveInfo& kind : collectives) {
    for (const std::int64_t gpus : {2, 4, 8}) {
      auto curve = link_curve(*facts, {kind.kind, gpus, 1});
      if (curve) rows.push_back({"", std::move(curve->curve), curve->origin});
    }
  }
  return rows;
}

[[noreturn]] void fail_unknown(const std::string& name, std::span<const LinkRow> known) {
  std::vector<std::string> names;
  for (const LinkRow& row : known) names.push_back(row.curve.link);
  std::string message = "no link `" + name + "`";
  if (const auto near = nearest(name, names)) {
    message += "; did you mean `" + std::string(*near) + "`?";
  }
  throw UserError(message + "\n  `stepsight show links` lists them and says how classes are named");
}

std::string show_links(const ShowFlags& flags) {
  std::vector<LinkRow> rows = measured_rows();
  if (flags.name.empty()) return flags.json ? links_json(rows) : links_text(rows);
  std::vector<LinkRow> chosen;
  std::ranges::copy_if(rows, std::back_inserter(chosen), [&](const LinkRow& row) {
    return row.curve.link == flags.name;
  });
  if (chosen.empty()) chosen = class_rows(flags.name);
  if (chosen.empty()) fail_unknown(flags.name, rows);
  return flags.json ? links_json(chosen) : link_text(chosen);
}

// A link by file or class; nothing when the name is neither.
std::shared_ptr<const LinkFacts> known_link(const std::string& name) {
  auto facts = find_link(name, "");
  return facts->measured || facts->link_class ? facts : nullptr;
}

std::string show_against(const ShowFlags& flags, const LinkFacts& link) {
  constexpr std::size_t largest_log = 256 * megabyte;
  const CollectiveLog log = read_collective_log(
      flags.against, read_file(flags.against, largest_log, "the log of a collective test"));
  std::vector<MeasuredBusbw> points;
  for (const CollectiveLogRow& row : log.rows) points.push_back({row.bytes, row.busbw_GBps});
  const CollectiveGroup group{log.kind, log.ranks, log.nodes};
  const LinkVerdict verdict = judge_link(link, group, points, log.transports);
  return flags.json ? link_verdict_json(link, group, verdict)
                    : link_verdict_text(link, group, verdict);
}

std::string show_link(const ShowFlags& flags) {
  if (flags.name.empty()) throw UserError("show link needs a name; see `stepsight show links`");
  const auto link = known_link(flags.name);
  if (!link) {
    if (!flags.against.empty()) {
      throw UserError("'" + flags.name + "' is neither a measured link nor a link class");
    }
    return show_links(flags);
  }
  if (!flags.against.empty()) return show_against(flags, *link);
  return flags.json ? link_report_json(*link) : link_report_text(*link);
}

std::string show(const ShowFlags& flags) {
  if (flags.what == "link") return show_link(flags);
  if (!flags.against.empty()) throw UserError("--against goes with `show link NAME`");
  if (flags.what == "models") return show_models(flags);
  if (flags.what == "links") return show_links(flags);
  const std::string folder = flags.what == "gpus" ? "gpus" : "profiles";
  const std::vector<GpuProfile> all = read_all(folder, flags.name);
  if (flags.json) return profiles_json(all);
  if (flags.what == "gpus") return gpus_text(all);
  return flags.name.empty() ? profiles_text(all) : profile_report_text(all.front());
}

}  // namespace

void add_show_command(CLI::App& app, int& /*exit_code*/) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command = app.add_subcommand("show", "What is built in, and what a profile says");
  command->add_option("what", flags->what, "models, gpus, links, profiles, or link for one")
      ->required()
      ->check(CLI::IsMember({"models", "gpus", "links", "link", "profiles"}));
  command->add_option("name", flags->name, "one of them: its details");
  command->add_option("--against", flags->against, "link: a log of nccl-tests to judge by it");
  command->add_flag("--json", flags->json, "for machines");
  command->add_option("-o,--output", flags->output, "write to this file instead");
  command->footer("Example:\n  stepsight show profiles h200-sxm");
  command->callback([flags] { write_output(flags->output, show(*flags)); });
}

}  // namespace stepsight
