// A document as one self-contained page: opens offline, asks nobody anything.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/document.h"
#include "reports/words.h"

namespace stepsight {

struct WhatIfValue {
  std::string text;
  std::vector<std::pair<std::string, std::string>>
      keys;  // of the scenario, to be given in place of its own
};

// One control of the page's "what if": an input of the scenario and the values that it may take.
struct WhatIfControl {
  std::string key;  // unique on the page: "gpus"
  std::string title;
  std::vector<WhatIfValue> values;
  std::size_t at = 0;  // the scenario's own, which changes no key
};

// Everything that the page needs to compute anew what it shows.
struct WhatIf {
  std::vector<WhatIfControl> controls;
  std::string scenario_file;                              // its path; empty: keys alone asked
  std::vector<std::pair<std::string, std::string>> keys;  // given beside it
  std::vector<std::pair<std::string, std::string>>
      files;                // path and text of all that is read for the answer
  std::string data_folder;  // $STEPSIGHT_DATA
  std::string program;      // JavaScript that starts the simulator
  std::string code;         // the simulator: WebAssembly, packed with gzip, in base64
};

struct PageAssets {
  std::string chart_library;  // JavaScript; empty: charts stay the static ones
  std::optional<WhatIf> what_if;
};

std::string html_page(const Document& document, const PageAssets& assets, const Words& words);

}  // namespace stepsight
