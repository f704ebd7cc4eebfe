#include "model/io/scenario_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "model/errors.h"
#include "model/io/link_file.h"
#include "model/io/price_list.h"
#include "model/io/read_file.h"
#include "model/io/scenario_entries.h"
#include "model/parallel_layout.h"
#include "model/scenario_rules.h"
#include "model/usual_link.h"

namespace stepsight {
namespace {

// Everything that is the same at all points, found once.
struct Sweep {
  Entries* entries = nullptr;
  ErrorList* errors = nullptr;
  const Entry* named_model = nullptr;  // `name` or `config`
  const Entry* family = nullptr;
  GivenKeys given;
  bool fixed_global_batch = false;
  std::string folder;  // of the scenario file: what a relative path in it starts from
  // What link names and topology files stand for, each looked up once.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const LinkFacts>> links;
  std::map<std::string, std::shared_ptr<const PriceList>>
      price_lists;                  // likewise; null: unreadable
  std::vector<std::size_t> chosen;  // for each entry, which of its settings this point has
};

void note(Sweep& sweep, const Entry& entry, std::size_t setting, const std::string& message) {
  if (entry.flag.empty()) {
    sweep.errors->add(entry.positions[setting], message);
  } else {
    sweep.errors->add_finished(entry.flag + ": " + message);
  }
}

std::size_t choice(const Sweep& sweep, const Entry& entry) {
  return sweep.chosen[static_cast<std::size_t>(&entry - sweep.entries->list.data())];
}

// Points at the key's value at this point of the sweep, else at its table. A rule over a value that
// was misread would only confuse: [cluster] may lack a gpu because its value was no string.
void note_violation(Sweep& sweep, const RuleViolation& broken) {
  const std::set<std::string_view>& misread = sweep.entries->misread;
  if (misread.contains(broken.key)) return;
  for (const std::string_view key : broken.involves) {
    if (misread.contains(key)) return;
  }
  if (const Entry* entry = sweep.entries->find(broken.key)) {
    note(sweep, *entry, choice(sweep, *entry), broken.message);
  } else {
    sweep.errors->add(sweep.entries->section(broken.section), broken.message);
  }
}

void apply(Sweep& sweep, const Entry& entry, Scenario& scenario) {
  if (entry.key->set != nullptr) entry.key->set(scenario, entry.settings[choice(sweep, entry)]);
}

ModelShape base_model(Sweep& sweep) {
  if (sweep.named_model != nullptr) {
    return sweep.named_model->models[choice(sweep, *sweep.named_model)];
  }
  Scenario scenario;
  if (sweep.family != nullptr) apply(sweep, *sweep.family, scenario);
  return family_defaults(scenario.model.family);
}

// global_batch is resolved to the batch of each GPU here, so that everything behind the reader
// works with one of the two; the scenario keeps it to say that scaling is strong.
void resolve_batch(Scenario& scenario) {
  const std::int64_t shares = data_parallel(scenario) * scenario.training.accumulation;
  scenario.training.batch = std::max<std::int64_t>(1, scenario.training.global_batch / shares);
}

// "usual-nvswitch+400G": what machines with the scenario's card usually have of that kind, with
// that many Gb/s of network for each of a full machine's eight cards. The profile's name counts,
// not its path.
void resolve_usual_link(Cluster& cluster) {
  constexpr std::string_view prefix = "usual-";
  if (!cluster.link.starts_with(prefix)) return;
  std::string kind = cluster.link.substr(prefix.size());
  double network_Gbps = 0;
  const std::size_t plus = kind.find('+');
  if (plus != std::string::npos && kind.ends_with('G')) {
    const std::string_view digits = std::string_view(kind).substr(plus + 1, kind.size() - plus - 2);
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), network_Gbps);
    const bool whole = status == std::errc{} && end == digits.data() + digits.size();
    if (!whole || !(network_Gbps > 0 && network_Gbps < 1e6)) return;  // no link has that name
    kind.resize(plus);
  }
  const std::string card = std::filesystem::path(cluster.gpu).stem().string();
  const std::string found = usual_link(card, kind, 8 * network_Gbps);
  if (found != kind) cluster.link = found;
}

// Full machines, or a part of one.
void resolve_nodes(Cluster& cluster) {
  if (cluster.gpus_per_node < 1) return;
  cluster.nodes = std::max<std::int64_t>(1, cluster.gpus / cluster.gpus_per_node);
}

// A machine's own graph has so many GPUs and no more.
void check_machine(Sweep& sweep, const Cluster& cluster) {
  const bool graph =
      cluster.facts && cluster.facts->link_class && cluster.facts->link_class->machine;
  if (!graph || cluster.nodes < 1 || cluster.gpus % cluster.nodes != 0) return;
  const std::int64_t has = cluster.facts->link_class->machine->gpus;
  if (cluster.gpus / cluster.nodes <= has) return;
  const std::string message =
      fmt::format("the topology has {} GPUs a machine, but {} on {} machines are asked for",
                  has,
                  cluster.gpus,
                  cluster.nodes);
  if (const Entry* entry = sweep.entries->find("gpus")) {
    note(sweep, *entry, choice(sweep, *entry), message);
  } else {
    sweep.errors->add(sweep.entries->section("cluster"), message);
  }
}

// A link that cannot be read is noted once, at its key, and then stands for nothing.
void look_up_link(Sweep& sweep, Cluster& cluster) {
  const std::optional<TopologyTable>& table = sweep.entries->topology;
  if (table && cluster.topo.empty()) cluster.topo = topology_table_name;
  if (!table && !cluster.topo.empty() && !sweep.folder.empty() &&
      std::filesystem::path(cluster.topo).is_relative()) {
    cluster.topo = (std::filesystem::path(sweep.folder) / cluster.topo).string();
  }
  if (cluster.link.empty() && cluster.topo.empty()) return;
  const auto [known, is_new] = sweep.links.try_emplace({cluster.link, cluster.topo});
  if (is_new) {
    try {
      known->second =
          table ? find_link(cluster.link, *table) : find_link(cluster.link, cluster.topo);
    } catch (const UserError& error) {
      const Entry* entry = sweep.entries->find(cluster.topo.empty() || table ? "link" : "topo");
      if (entry == nullptr) throw;
      note(sweep, *entry, choice(sweep, *entry), error.what());
    }
  }
  cluster.facts = known->second;
  check_machine(sweep, cluster);
}

// As look_up_link().
void look_up_prices(Sweep& sweep, Scenario& scenario) {
  const std::string& name = scenario.cost.list;
  if (name.empty()) return;
  const auto [known, is_new] = sweep.price_lists.try_emplace(name);
  if (is_new) {
    try {
      const std::filesystem::path beside = std::filesystem::path(sweep.folder) / name;
      const bool is_file = name.ends_with(".toml") && std::filesystem::exists(beside);
      known->second =
          std::make_shared<const PriceList>(read_price_list(is_file ? beside.string() : name));
    } catch (const UserError& error) {
      const Entry* entry = sweep.entries->find("prices");
      if (entry == nullptr) throw;
      note(sweep, *entry, choice(sweep, *entry), error.what());
    }
  }
  if (known->second) complete_prices(scenario.cost, *known->second, scenario.cluster.gpu);
}

Scenario build_point(Sweep& sweep) {
  Scenario scenario;
  const ModelShape base = base_model(sweep);
  scenario.title = sweep.entries->title;
  scenario.model = base;
  for (const Entry& entry : sweep.entries->list) apply(sweep, entry, scenario);
  complete_model(scenario.model, base, sweep.given);
  if (scenario.model.name.empty()) {
    scenario.model.name =
        fmt::format("{} layers x {}", scenario.model.layers, scenario.model.hidden);
  }
  // Images have no tokens: one scenario may ask for models of both kinds.
  const bool images = takes_images(scenario.model.family);
  if (images || scenario.training.seq == 0) {
    scenario.training.seq = longest_sequence(scenario.model);
  }
  if (sweep.fixed_global_batch) resolve_batch(scenario);
  resolve_nodes(scenario.cluster);
  resolve_usual_link(scenario.cluster);
  look_up_link(sweep, scenario.cluster);
  look_up_prices(sweep, scenario);
  return scenario;
}

void check_rules(Sweep& sweep, const Scenario& scenario) {
  for (const RuleViolation& broken : violations(scenario)) note_violation(sweep, broken);
}

// Keys whose absence makes every point impossible: said once, at their table, instead of through
// the zeros they would leave.
void check_missing(Sweep& sweep) {
  const Position model = sweep.entries->section("model");
  if (sweep.named_model != nullptr) {
    if (sweep.family != nullptr) {
      note(sweep, *sweep.family, 0, "'family' cannot change a model that is named");
    }
    return;
  }
  if (sweep.family == nullptr) {
    if (!sweep.entries->misread.insert("model").second) return;
    sweep.errors->add(model,
                      "the model is missing: [model] needs 'name' (see `stepsight show models`), "
                      "'config' or 'family' with its sizes");
    return;
  }
  for (std::size_t i = 0; i < sweep.family->settings.size(); ++i) {
    Scenario scenario;
    sweep.family->key->set(scenario, sweep.family->settings[i]);
    for (const std::string_view key : missing_model_keys(scenario.model.family, sweep.given)) {
      if (sweep.entries->misread.contains(key)) continue;
      sweep.errors->add(model, fmt::format("missing key '{}' in [model]", key));
      sweep.entries->misread.insert("model");
    }
  }
}

Sweep start_sweep(Entries& entries, const std::string& folder) {
  Sweep sweep;
  sweep.entries = &entries;
  sweep.folder = folder;
  sweep.named_model =
      entries.find("name") != nullptr ? entries.find("name") : entries.find("config");
  sweep.family = entries.find("family");
  for (const Entry& entry : entries.list) sweep.given.add(entry.key->name);
  sweep.fixed_global_batch = sweep.given.has("global_batch");
  sweep.chosen.assign(entries.list.size(), 0);
  return sweep;
}

// Steps to the next point, the last axis fastest; false after the last point.
bool advance(Sweep& sweep) {
  for (std::size_t i = sweep.chosen.size(); i-- > 0;) {
    if (++sweep.chosen[i] < sweep.entries->list[i].settings.size()) return true;
    sweep.chosen[i] = 0;
  }
  return false;
}

std::size_t count_points(const Entries& entries, std::size_t most, ErrorList& errors) {
  std::size_t count = 1;
  for (const Entry& entry : entries.list) {
    count *= entry.settings.size();
    if (count > most) {
      errors.add(entry.at, fmt::format("the arrays make over {} scenarios", most));
      return 0;
    }
  }
  return count;
}

// Entries and the state of their sweep; the sweep points into the entries.
struct Read {
  std::unique_ptr<ErrorList> errors;
  std::shared_ptr<Entries> entries;
  Sweep sweep;
  std::size_t count = 0;
};

Read read_sweep(const std::string& file,
                std::string_view text,
                std::span<const KeyFlag> flags,
                std::size_t most) {
  check_size(file, text, megabyte, "a scenario");
  const Value root = parse_toml(file, text);
  Read read{std::make_unique<ErrorList>(file), nullptr, {}, 0};
  read.entries = std::make_shared<Entries>(read_entries(root, flags, *read.errors));
  const std::string folder = std::filesystem::path(file).parent_path().string();
  read.sweep = start_sweep(*read.entries, folder);
  read.sweep.errors = read.errors.get();
  check_missing(read.sweep);
  read.count = count_points(*read.entries, most, *read.errors);
  if (read.count == 0) read.errors->throw_if_any();
  return read;
}

}  // namespace

struct ScenarioPoints::Inside {
  std::shared_ptr<const Entries> entries;
  Sweep sweep;
  ErrorList errors;
  std::size_t count = 0;
  std::shared_ptr<const ScenarioFile> about;  // without points

  Inside(std::shared_ptr<const Entries> read_entries,
         Sweep started,
         std::size_t points,
         std::shared_ptr<const ScenarioFile> what,
         ErrorList list)
      : entries(std::move(read_entries)),
        sweep(std::move(started)),
        errors(std::move(list)),
        count(points),
        about(std::move(what)) {
    sweep.errors = &errors;
  }
  Inside(const Inside& other)
      : Inside(other.entries, other.sweep, other.count, other.about, other.errors) {}
  Inside& operator=(const Inside&) = delete;
};

ScenarioPoints::ScenarioPoints(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
ScenarioPoints::ScenarioPoints(const ScenarioPoints& other)
    : inside_(std::make_unique<Inside>(*other.inside_)) {}
ScenarioPoints::ScenarioPoints(ScenarioPoints&& other) noexcept = default;
ScenarioPoints::~ScenarioPoints() = default;

std::size_t ScenarioPoints::size() const {
  return inside_->count;
}
const std::string& ScenarioPoints::title() const {
  return inside_->about->title;
}
const std::vector<std::string>& ScenarioPoints::axes() const {
  return inside_->about->axes;
}
const std::vector<std::vector<std::string>>& ScenarioPoints::axis_values() const {
  return inside_->about->axis_values;
}
std::vector<std::size_t> ScenarioPoints::coordinates(std::size_t index) const {
  return stepsight::coordinates(*inside_->about, index);
}

std::vector<std::string> ScenarioPoints::given(std::string_view key) const {
  const Entry* entry = inside_->entries->find(key);
  return entry == nullptr ? std::vector<std::string>() : entry->texts;
}
void ScenarioPoints::throw_mistakes() const {
  inside_->errors.throw_if_any();
}

Scenario ScenarioPoints::at(std::size_t index) {
  Sweep& sweep = inside_->sweep;
  for (std::size_t i = sweep.chosen.size(); i-- > 0;) {
    const std::size_t length = sweep.entries->list[i].settings.size();
    sweep.chosen[i] = index % length;
    index /= length;
  }
  return build_point(sweep);
}

ScenarioPoints read_scenario_points_text(const std::string& file,
                                         std::string_view text,
                                         std::span<const KeyFlag> flags,
                                         PointRules rules) {
  Read read = read_sweep(file, text, flags, most_lazy_points);
  // Every link and every rule is looked at once; the first file's worth of mistakes is thrown.
  if (rules == PointRules::check) {
    do {
      check_rules(read.sweep, build_point(read.sweep));
    } while (!read.errors->full() && advance(read.sweep));
  }
  read.errors->throw_if_any();
  auto about = std::make_shared<ScenarioFile>();
  about->title = read.entries->title;
  for (const Entry& entry : read.entries->list) {
    if (!entry.is_axis) continue;
    about->axes.emplace_back(entry.key->name);
    about->axis_values.push_back(entry.texts);
  }
  return ScenarioPoints(std::make_unique<ScenarioPoints::Inside>(std::move(read.entries),
                                                                 std::move(read.sweep),
                                                                 read.count,
                                                                 std::move(about),
                                                                 std::move(*read.errors)));
}

ScenarioPoints read_scenario_points(const std::string& path,
                                    std::span<const KeyFlag> flags,
                                    PointRules rules) {
  return read_scenario_points_text(path, read_file(path, megabyte, "a scenario"), flags, rules);
}

ScenarioFile read_scenario_text(const std::string& file,
                                std::string_view text,
                                std::span<const KeyFlag> flags) {
  Read read = read_sweep(file, text, flags, most_points);
  ScenarioFile result;
  result.title = read.entries->title;
  for (const Entry& entry : read.entries->list) {
    if (!entry.is_axis) continue;
    result.axes.emplace_back(entry.key->name);
    result.axis_values.push_back(entry.texts);
  }
  result.points.reserve(read.count);
  do {
    result.points.push_back(build_point(read.sweep));
    check_rules(read.sweep, result.points.back());
  } while (!read.errors->full() && advance(read.sweep));
  read.errors->throw_if_any();
  return result;
}

ScenarioFile read_scenario(const std::string& path, std::span<const KeyFlag> flags) {
  return read_scenario_text(path, read_file(path, megabyte, "a scenario"), flags);
}

ScenarioFile scenario_from_flags(std::span<const KeyFlag> flags) {
  return read_scenario_text("command line", "", flags);
}

std::vector<std::size_t> coordinates(const ScenarioFile& file, std::size_t index) {
  std::vector<std::size_t> result(file.axes.size());
  for (std::size_t axis = result.size(); axis-- > 0;) {
    const std::size_t length = file.axis_values[axis].size();
    result[axis] = index % length;
    index /= length;
  }
  return result;
}

}  // namespace stepsight
