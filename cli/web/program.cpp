// The page's program: one function, called by reports/web/page.js.
#include <string>
#include <string_view>

#include "cli/page_answer.h"

namespace {

// "gpus=8\nbatch=4\n": keys as on a command line, in its order.
stepsight::ScenarioFlags flags_of(const char* file, std::string_view keys) {
  stepsight::ScenarioFlags out;
  out.file = file;
  while (!keys.empty()) {
    const std::string_view line = keys.substr(0, keys.find('\n'));
    const std::size_t equals = line.find('=');
    out.give(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
    keys.remove_prefix(std::min(keys.size(), line.size() + 1));
  }
  return out;
}

}  // namespace

// `form`: "page" (stepsight::page_answer) or "json". The text stands until the next call.
extern "C" const char* stepsight_answer(const char* language,
                                        const char* file,
                                        const char* keys,
                                        const char* form) {
  static stepsight::Profiles profiles;  // read once
  static std::string answer;
  const stepsight::ScenarioFlags flags = flags_of(file, keys);
  const bool page = form == std::string_view("page");
  answer = page ? stepsight::page_answer(flags, language, profiles)
                : stepsight::page_answer_json(flags, language, profiles);
  return answer.c_str();
}
