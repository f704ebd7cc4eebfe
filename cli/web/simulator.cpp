// The page's own program: what `stepsight report` answers, compiled to WebAssembly and called by
// reports/web/page.js when a control moves. Built by cli/web/CMakeLists.txt, never with the rest.
#include <string>
#include <vector>

#include "cli/report_answer.h"
#include "model/errors.h"
#include "model/io/builtin_table.h"
#include "reports/escape.h"
#include "reports/verdict.h"

namespace stepsight {

// Nothing is built in: the page puts the same files where the program looks for a user's.
std::span<const BuiltinRow> builtin_table() {
  return {};
}

namespace {

// "key=value" lines.
std::vector<KeyFlag> flags_of(const std::string& lines) {
  std::vector<KeyFlag> out;
  std::size_t begin = 0;
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', begin)) {
    const std::string line = lines.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    out.push_back({key, key, line.substr(equals + 1)});
  }
  return out;
}

std::string answer(const std::string& language,
                   const std::string& name,
                   const std::string& scenario,
                   const std::string& flags) {
  const Words words(language);
  const ScenarioFile file = read_scenario_text(name, scenario, flags_of(flags));
  Profiles profiles;
  ScenarioReport report = answer_report(file, profiles, {});
  report.scenario_text = scenario;
  const StudyPoint& focus = report.answers.points[focus_of(report.answers)];
  const Document document = scenario_page(report, profiles.get(focus.scenario.cluster.gpu), words);
  return "{\"verdict\":" + json_string(document.verdict) + ",\"question\":" + json_string(document.question) +
         ",\"html\":" + json_string(document_html(document)) + ",\"json\":" + json_string(document_json(document)) +
         "}";
}

}  // namespace
}  // namespace stepsight

// {"verdict", "question", "html", "json"}, or {"error"}. The text lives until the next call.
extern "C" const char* stepsight_answer(const char* language,
                                        const char* name,
                                        const char* scenario,
                                        const char* flags) {
  static std::string out;
  try {
    out = stepsight::answer(language, name, scenario, flags);
  } catch (const std::exception& error) {
    out = "{\"error\":" + stepsight::json_string(error.what()) + "}";
  }
  return out.c_str();
}
