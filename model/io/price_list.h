// Price lists (scenarios/prices/*.toml): figures of [cost] that hold for every card, and tables
// [gpus.NAME] with those of one card. What ships is an example with its date.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "model/prices.h"

namespace stepsight {

struct PriceList {
  std::string title;
  std::string date;
  Prices all;
  std::map<std::string, Prices, std::less<>> gpus;
};

// By name or path (model/io/builtin.h). UserError with everything that is wrong, file:line:column.
PriceList read_price_list(const std::string& name);
PriceList read_price_list_text(const std::string& file, std::string_view text);

// Fills in what `prices` lacks: first from the card's own table, then from what holds for all.
void complete_prices(Prices& prices, const PriceList& list, std::string_view gpu);

}  // namespace stepsight
