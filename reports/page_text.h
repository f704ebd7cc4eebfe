// The style sheet and the script of a page: reports/web/page.css and page.js, compiled in.
#pragma once
#include <string_view>

namespace stepsight {

std::string_view page_style();
std::string_view page_script();

}  // namespace stepsight
