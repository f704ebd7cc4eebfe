#include "model/io/price_list.h"

#include "model/io/builtin.h"
#include "model/io/read_file.h"
#include "model/io/scenario_keys.h"
#include "model/io/table.h"

namespace stepsight {
namespace {

// Every figure of [cost] may stand in a list, by the same rules.
bool may_stand_in_list(const ScenarioKey& key) {
  return key.section == "cost" && key.name != "prices";
}

Prices read_prices(Table& table, ErrorList& errors) {
  Scenario scenario;
  for (const ScenarioKey& key : scenario_keys()) {
    if (!may_stand_in_list(key)) continue;
    const Value* value = table.value(key.name);
    if (value == nullptr) continue;
    if (const auto setting = read_setting(key, *value, "", errors)) key.set(scenario, *setting);
  }
  return scenario.cost;
}

// What a scenario and a list have in common.
constexpr std::optional<double> Prices::*figures[] = {
    &Prices::rent_per_gpu_hour,
    &Prices::gpu_price,
    &Prices::node_price,
    &Prices::bridge_price,
    &Prices::nic_price,
    &Prices::nic_price_per_Gbps,
    &Prices::switch_price_per_Gbps,
    &Prices::facility_share,
    &Prices::resale_share,
    &Prices::years,
    &Prices::utilisation,
    &Prices::power_price_per_kWh,
    &Prices::gpu_power_W,
    &Prices::node_power_W,
    &Prices::pue,
    &Prices::day_worth,
};

void fill(Prices& prices, const Prices& from) {
  for (const auto figure : figures) {
    if (!(prices.*figure)) prices.*figure = from.*figure;
  }
  if (prices.currency.empty()) prices.currency = from.currency;
}

}  // namespace

PriceList read_price_list_text(const std::string& file, std::string_view text) {
  check_size(file, text, megabyte, "a price list");
  const Value root = parse_toml(file, text);
  ErrorList errors(file);
  Table table(root, errors);
  PriceList list;
  list.title = table.require_string("title");
  list.date = table.require_string("date");
  list.all = read_prices(table, errors);
  Table gpus = table.sub_table("gpus");
  if (gpus.present()) {
    for (const std::string& name : gpus.keys()) {
      Table gpu = gpus.sub_table(name);
      list.gpus[name] = read_prices(gpu, errors);
      gpu.finish();
    }
  }
  gpus.finish();
  table.finish();
  errors.throw_if_any();
  return list;
}

PriceList read_price_list(const std::string& name) {
  const NamedFile file = find_named_file("prices", name, ".toml");
  return read_price_list_text(file.path, file.text);
}

void complete_prices(Prices& prices, const PriceList& list, std::string_view gpu) {
  if (const auto own = list.gpus.find(gpu); own != list.gpus.end()) fill(prices, own->second);
  fill(prices, list.all);
  prices.list_title = list.title + " (" + list.date + ")";
}

}  // namespace stepsight
