#include "cli/terminal.h"

#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include "cli/output.h"
#include "reports/terminal_style.h"

namespace stepsight {

bool colours_wanted() {
  const char* no = std::getenv("NO_COLOR");
  if (no != nullptr && *no != '\0') return false;
  const char* kind = std::getenv("TERM");
  if (kind == nullptr || std::string_view(kind) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

void write_text(const std::string& file, const std::string& text) {
  write_output(file, is_standard_output(file) && colours_wanted() ? with_colours(text) : text);
}

}  // namespace stepsight
