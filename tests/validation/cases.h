// Answers to people's cases, by the tables that ask them: what all of them together amount to is
// counted in cases_whole_test.cpp.
#pragma once
#include <string>
#include <vector>

namespace stepsight {

struct CaseAnswer {
  std::string where;  // the thread or table that the case comes from
  std::string asked;
  bool held = false;  // as the thread turned out
};

std::vector<CaseAnswer> link_case_answers();      // link_cases_test.cpp
std::vector<CaseAnswer> strategy_case_answers();  // strategy_cases_test.cpp
std::vector<CaseAnswer> diagnose_case_answers();  // cases_diagnose_test.cpp

}  // namespace stepsight
