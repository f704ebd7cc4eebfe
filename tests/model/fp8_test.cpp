// Products in fp8: which they are, what is cast for them, and what stays as it was.
#include <algorithm>

#include "model/io/model_file.h"
#include "model/scenario_rules.h"
#include "model/transformer.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

Training narrow(bool fp8) {
  Training t;
  t.batch = 2;
  t.seq = 1024;
  t.fp8 = fp8;
  return t;
}

struct Count {
  double fp8 = 0, other = 0;  // FLOP of products
  double cast_bytes = 0;
};

Count count(const StageWork& stage) {
  Count out;
  for (const auto* list : {&stage.forward, &stage.backward}) {
    for (const Operator& op : *list) {
      if (const auto* g = std::get_if<Gemm>(&op.work)) {
        (g->dtype == Dtype::fp8 ? out.fp8 : out.other) += flops(*g).value;
      }
      const auto* pass = std::get_if<Pass>(&op.work);
      if (pass != nullptr && op.label == fp8_cast) out.cast_bytes += bytes(*pass).value;
    }
  }
  return out;
}

}  // namespace

TEST_CASE(
    "all products of a block's linear layers are narrow, forward and backward, the head's are "
    "not") {
  for (const char* name : {"gpt2-774m", "llama3-8b", "mixtral-8x7b", "t5-base", "bert-large"}) {
    INFO(name);
    const ModelShape s = read_model(name);
    const StepWork wide = step_work(s, narrow(false));
    const StepWork work = step_work(s, narrow(true));
    const Count before = count(wide.block);
    const Count block = count(work.block);
    const double router =
        s.experts > 0 ? 3 * 2.0 * 2048 * static_cast<double>(s.hidden * s.experts) : 0;
    CHECK(block.other == router);
    CHECK(block.fp8 == before.other - router);
    CHECK(before.fp8 == 0);
    const auto head = std::ranges::find_if(work.head.forward, [](const Operator& op) {
      return op.label == "head" && std::holds_alternative<Gemm>(op.work);
    });
    if (head != work.head.forward.end()) CHECK(std::get<Gemm>(head->work).dtype == Dtype::bf16);
    CHECK(work.model_flops.value == wide.model_flops.value);
    CHECK(work.parameters == wide.parameters);
  }
}

TEST_CASE("layers that share an input cast it once, and each casts its own weight") {
  // Llama: query, key and value share one input, gate and up another; 2 bytes in, 1 + 1 out an
  // element.
  const ModelShape s = read_model("llama3-8b");
  const double inputs = 2048.0 * (3 * 4096 + 14336);  // of qkv, output, gate-up, down
  const double weights = 4096.0 * (4096 + 1024 + 1024 + 4096 + 3 * 14336);
  CHECK(count(step_work(s, narrow(true)).block).cast_bytes == 4 * (inputs + weights));
}

TEST_CASE("what backward keeps of a product's input is a byte an element") {
  const ModelShape s = read_model("llama3-8b");
  CHECK(step_work(s, narrow(true)).block.saved_bytes <
        step_work(s, narrow(false)).block.saved_bytes);
}

TEST_CASE("fp8 needs 16 bits around it") {
  Scenario s;
  s.model = read_model("gpt2-124m");
  s.training = narrow(true);
  s.cluster.gpu = "toy";
  CHECK(violations(s).empty());
  s.training.precision = {Dtype::fp32, false};
  REQUIRE(violations(s).size() == 1);
  CHECK(violations(s).front().key == "fp8");
}
