// A stage's product by its label.
#pragma once
#include <algorithm>
#include <string_view>
#include <variant>

#include "model/transformer.h"
#include "tests/catch2.h"

namespace stepsight {

// The first of forward's products that is called so; fails the test where none is.
inline const Gemm& product(const StageWork& stage, std::string_view label) {
  const auto at = std::ranges::find_if(stage.forward, [&](const Operator& op) {
    return op.label == label && std::holds_alternative<Gemm>(op.work);
  });
  REQUIRE(at != stage.forward.end());
  return std::get<Gemm>(at->work);
}

}  // namespace stepsight
