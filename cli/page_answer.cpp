#include "cli/page_answer.h"

#include "cli/report_answer.h"
#include "model/errors.h"
#include "reports/escape.h"
#include "reports/scenario_page.h"

namespace stepsight {

namespace {

Document document_of(const ScenarioFlags& flags, const std::string& language, Profiles& profiles) {
  const ScenarioReport report = answer_report(flags, profiles);
  return scenario_page(report, profiles.get(report.focus.scenario.cluster.gpu), Words(language));
}

std::string error_json(const UserError& error) {
  return "{\"error\":" + json_string(error.what()) + "}";
}

}  // namespace

std::string page_answer(const ScenarioFlags& flags,
                        const std::string& language,
                        Profiles& profiles) {
  try {
    const Document d = document_of(flags, language, profiles);
    return "{\"verdict\":" + json_string(d.verdict) + ",\"question\":" + json_string(d.question) +
           ",\"html\":" + json_string(document_html(d)) + "}";
  } catch (const UserError& error) {
    return error_json(error);
  }
}

std::string page_answer_json(const ScenarioFlags& flags,
                             const std::string& language,
                             Profiles& profiles) {
  try {
    return document_json(document_of(flags, language, profiles));
  } catch (const UserError& error) {
    return error_json(error);
  }
}

}  // namespace stepsight
