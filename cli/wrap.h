// Help texts for a terminal of 80 columns.
#pragma once
#include <string>
#include <string_view>

#include "reports/text_table.h"

namespace stepsight {

// Beside a column of option names 30 wide.
inline std::string help_text(std::string_view text) {
  return wrap(text, 48);
}

}  // namespace stepsight
