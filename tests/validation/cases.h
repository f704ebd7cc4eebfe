// Answers to people's cases, by the tables that ask them: what all of them together amount to is
// counted in cases_whole_test.cpp.
#pragma once
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/catch2.h"

namespace stepsight {

// jzhang38/TinyLlama: 1.1B on 16 A100-40.
inline const std::string tinyllama = R"(
[model]
family = "llama"
layers = 22
hidden = 2048
heads = 32
kv_heads = 4
ffn = 5632
vocab = 32000
max_seq = 2048
[training]
batch = 8
seq = 2048
precision = "bf16"
fused_kernels = true
[cluster]
gpu = "a100-sxm-40"
gpus = 16
gpus_per_node = 8
link = "usual-nvswitch+200G"
[parallel]
strategy = "fsdp"
)";

// What a thread or table asks, and between which figures its answer lies.
struct Case {
  const char* where;
  const char* asked;
  double least;
  double most;
  double (*answer)();
  const char* missing;  // null where the answer is to hold
};

// How many threads there are, and of how many all that was asked held.
struct ThreadsHeld {
  std::size_t all = 0;
  std::size_t held = 0;
};

// Checks each case: it holds, or it stands in the list of those that miss something.
inline ThreadsHeld check_cases(std::span<const Case> cases) {
  std::map<std::string, bool> held;
  for (const Case& one : cases) {
    const double answer = one.answer();
    INFO(one.where << ": " << one.asked << "; answered " << answer);
    const bool inside = answer >= one.least && answer <= one.most;
    held.try_emplace(one.where, true).first->second &= inside;
    if (one.missing == nullptr) {
      CHECK(inside);
    } else {
      INFO("missing: " << one.missing);
      CHECK_FALSE(inside);  // an answer that came right must leave the list
    }
  }
  const auto count = std::ranges::count_if(held, [](const auto& one) { return one.second; });
  return {held.size(), static_cast<std::size_t>(count)};
}

struct CaseAnswer {
  std::string where;  // the thread or table that the case comes from
  std::string asked;
  bool held = false;  // as the thread turned out
};

inline std::vector<CaseAnswer> answers_of(std::span<const Case> cases) {
  std::vector<CaseAnswer> out;
  for (const Case& one : cases) {
    const double answer = one.answer();
    out.push_back({one.where, one.asked, answer >= one.least && answer <= one.most});
  }
  return out;
}

std::vector<CaseAnswer> link_case_answers();      // link_cases_test.cpp
std::vector<CaseAnswer> strategy_case_answers();  // strategy_cases_test.cpp
std::vector<CaseAnswer> diagnose_case_answers();  // cases_diagnose_test.cpp

}  // namespace stepsight
