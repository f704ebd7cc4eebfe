// A document as one self-contained page: opens offline, asks nobody anything.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "reports/document.h"
#include "reports/words.h"

namespace stepsight {

// One control of the page's "what if": an input of the scenario and the values that it may take.
struct WhatIfControl {
  std::string key;  // of the scenario: "gpus"
  std::string title;
  std::vector<std::string> values;
  std::size_t at = 0;  // the scenario's own
};

// Everything that the page needs to compute anew what it shows.
struct WhatIf {
  std::vector<WhatIfControl> controls;
  std::string scenario_name;  // for messages
  std::string scenario_text;  // TOML
  std::vector<std::pair<std::string, std::string>> flags;  // keys given in place of the text's
  std::string program;  // the simulator as JavaScript with its WebAssembly inside
  std::string data;     // base64 of what it reads: built-in models, cards and links
  // Files of the user's own that it reads, too: path and text.
  std::vector<std::pair<std::string, std::string>> files;
};

struct PageAssets {
  std::string chart_library;  // JavaScript; empty: charts stay the static ones
  std::optional<WhatIf> what_if;
};

std::string html_page(const Document& document, const PageAssets& assets, const Words& words);

}  // namespace stepsight
