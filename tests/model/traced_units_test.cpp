#include "model/traced_units.h"

#include <initializer_list>

#include "tests/catch2.h"
#include "tests/model/toy_trace.h"

using namespace stepsight;

namespace {

// Gradients of these sizes, one kernel of backward each after `forward` kernels of forward; the
// i-th from the end is first used by forward's i-th kernel.
TracedStep step_with(std::initializer_list<std::int64_t> sizes) {
  TracedStep s;
  const auto n = static_cast<std::uint32_t>(sizes.size());
  s.backward_begin = n;
  s.backward_end = 2 * n;
  s.kernels.resize(2 * n);
  std::uint32_t i = 0;
  for (const std::int64_t size : sizes) {
    s.gradients.push_back({n + i + 1, size, 1e-3, n - 1 - i});
    ++i;
  }
  return s;
}

std::vector<std::int64_t> elements_of(const TracedUnits& units) {
  std::vector<std::int64_t> out;
  for (const TracedUnit& u : units.units) out.push_back(u.elements);
  return out;
}

TracedStep read(const char* name) {
  return read_traced_step(STEPSIGHT_SOURCE_DIR "/tests/validation/traces/" + std::string(name));
}

}  // namespace

TEST_CASE("layers are what repeats among the gradients, the rest is the root") {
  const TracedUnits u = traced_units(step_with({50, 3, 7, 1, 3, 7, 1, 3, 7, 1, 8}), 1);
  CHECK(elements_of(u) == std::vector<std::int64_t>{});  // 33 of 91: less than half
  const TracedUnits most = traced_units(step_with({5, 3, 7, 1, 3, 7, 1, 3, 7, 1, 8}), 1);
  CHECK(elements_of(most) == std::vector<std::int64_t>{11, 11, 11});
  CHECK(most.root_elements == 13);
  CHECK(most.forward_known);
}

TEST_CASE("a layer that itself repeats is not cut into its parts") {
  const TracedUnits u = traced_units(step_with({9, 9, 9, 2, 9, 9, 9, 2, 9, 9, 9, 2}), 1);
  CHECK(elements_of(u) == std::vector<std::int64_t>{29, 29, 29});
  CHECK(u.root_elements == 0);
}

TEST_CASE("a unit lies between the gradient before it and its own last one") {
  const TracedUnits u = traced_units(step_with({5, 3, 7, 3, 7, 2}), 1);
  REQUIRE(u.units.size() == 2);
  // Backward is the kernels 6 to 11, one a gradient; forward uses them in the order 5, 4, ... 0.
  CHECK(u.units[0].backward_begin == 7);
  CHECK(u.units[0].backward_end == 9);
  CHECK(u.units[1].backward_begin == 9);
  CHECK(u.units[1].backward_end == 11);
  CHECK(u.units[1].forward_begin == 1);
  CHECK(u.units[0].forward_begin == 3);
}

TEST_CASE("several layers make a unit, the last one what is left over") {
  const TracedUnits u = traced_units(step_with({4, 4, 4, 4, 4}), 2);
  CHECK(elements_of(u) == std::vector<std::int64_t>{8, 8, 4});
}

TEST_CASE("where forward's places are not known they mirror those of backward") {
  TracedStep s = step_with({4, 4, 4, 4});
  for (TracedGradient& g : s.gradients) g.first_use = no_operator;
  const TracedUnits u = traced_units(s, 1);
  CHECK_FALSE(u.forward_known);
  REQUIRE(u.units.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(u.units[i].forward_begin == 3 - i);
}

TEST_CASE("the layers of transformers are found in their traces") {
  struct Case {
    const char* trace;
    std::size_t layers;
    std::int64_t elements;
  };
  // 12 h^2 + 13 h with biases and two norms (GPT-2, BERT); Llama: q and o 2 h^2, k and v 2 h h / 4,
  // three of h x 8192, two norms.
  const std::int64_t bert = 12 * 1024 * 1024 + 13 * 1024;
  const std::int64_t gpt2 = 12 * 768 * 768 + 13 * 768;
  const std::int64_t llama = 2048 * 2048 * 5 / 2 + 3 * 2048 * 8192 + 2 * 2048;
  for (const Case& c : {Case{"bert_large_b16.json.gz", 24, bert},
                        Case{"gpt2_124m_b8.json.gz", 12, gpt2},
                        Case{"llama_1b_b2.json.gz", 16, llama}}) {
    INFO(c.trace);
    const TracedStep step = read(c.trace);
    const TracedUnits u = traced_units(step, 1);
    CHECK(u.units.size() == c.layers);
    CHECK(u.forward_known);
    for (const TracedUnit& unit : u.units) CHECK(unit.elements == c.elements);
    // The first layer of backward is forward's last.
    for (std::size_t i = 1; i < u.units.size(); ++i) {
      CHECK(u.units[i].forward_begin < u.units[i - 1].forward_begin);
      CHECK(u.units[i].backward_begin >= u.units[i - 1].backward_end);
    }
    CHECK(u.units.front().forward_begin < step.backward_begin);
  }
}
