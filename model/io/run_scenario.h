// From a row of a runs file to the scenario that it measured, or the reason why it cannot be told.
// Nothing is guessed that changes the answer: what the row does not say and the framework's or the
// architecture's usual does not settle is a refusal.
#pragma once
#include <string>
#include <variant>

#include "model/io/runs_csv.h"
#include "model/scenario.h"

namespace stepsight {

struct Refusal {
  std::string
      reason;  // one of few, so that they can be counted: "family resnet", "pipeline parallel"
};

// The usual of each family, where a row does not say otherwise: GPT has biases, learned positions
// and one projection for query, key and value; Llama has RMSNorm, SwiGLU, rotary positions and, as
// training frameworks have it, fused projections; BERT trains with its masked-language-model head.
// The head is tied or not, whichever gives the row's parameter count.
std::variant<Scenario, Refusal> scenario_of(const MeasuredRun& run);

}  // namespace stepsight
