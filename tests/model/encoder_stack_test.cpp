// What encoders' stacks from before fused attention launch: scores as a tensor, fp32 copies of
// 16-bit weights, an optimizer without fused kernels, and heads that follow from the parameter
// count.
#include <algorithm>
#include <variant>

#include "model/io/run_scenario.h"
#include "model/transformer.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

MeasuredRun bert_large_row() {
  MeasuredRun r;
  r.id = "row";
  r.complete = "yes";
  r.gpus = r.nodes = 1;
  r.params = 335143938;
  r.layers = 24;
  r.hidden = 1024;
  r.heads = r.kv_heads = 16;
  r.ffn = 4096;
  r.vocab = 30522;
  r.seq = 384;
  r.micro_batch = 4;
  r.step_time_s = 1;
  r.precision = "fp16 (apex amp O2)";
  r.std_family = "bert";
  r.std_gpu = "v100-sxm";
  r.std_compute = "fp16";
  r.std_flash = "no";
  return r;
}

Scenario scenario(const MeasuredRun& run) {
  const auto answer = scenario_of(run);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) FAIL(refusal->reason);
  return std::get<Scenario>(answer);
}

std::vector<PassKind> optimizer_kinds(const StepWork& work) {
  std::vector<PassKind> out;
  for (const Operator& op : work.optimizer) out.push_back(std::get<Pass>(op.work).kind);
  return out;
}

std::int64_t head_rows(const StepWork& work) {
  const auto head = std::ranges::find(work.head.forward, "head", &Operator::label);
  REQUIRE(head != work.head.forward.end());
  const auto product = std::find_if(head, work.head.forward.end(), [](const Operator& op) {
    return std::holds_alternative<Gemm>(op.work);
  });
  return std::get<Gemm>(product->work).m;
}

}  // namespace

TEST_CASE("an encoder's heads follow from its number of parameters") {
  MeasuredRun row = bert_large_row();  // question answering: a pooler, 2050 parameters on top
  CHECK(scenario(row).model.pooler);
  CHECK_FALSE(scenario(row).model.mlm_head);
  row.params = 335174458;  // a masked-language-model head alone
  CHECK_FALSE(scenario(row).model.pooler);
  CHECK(scenario(row).model.mlm_head);
  CHECK(scenario(row).model.mlm_share == 1);
  row.params = 336226108;  // both heads: the original pre-training
  CHECK(scenario(row).model.pooler);
  CHECK(scenario(row).model.mlm_head);
  CHECK(scenario(row).model.mlm_share == 0.15);
}

TEST_CASE("pre-training sequences are as long as their text, padded to a bin") {
  MeasuredRun row = bert_large_row();
  row.params = 336226108;
  row.seq = 512;
  CHECK(scenario(row).training.seq == 256 + 32);
  row.seq = 128;
  CHECK(scenario(row).training.seq == 128);
  row = bert_large_row();  // fine-tuning pads to the longest
  CHECK(scenario(row).training.seq == 384);
}

TEST_CASE("the gathered head works on its share of the tokens") {
  Scenario s = scenario(bert_large_row());
  s.model.mlm_head = true;
  s.training.batch = 2;
  s.training.seq = 100;
  CHECK(head_rows(step_work(s.model, s.training)) == 200);
  s.model.mlm_share = 0.15;
  CHECK(head_rows(step_work(s.model, s.training)) == 30);
}

TEST_CASE("apex O2 updates an fp32 copy by one fused kernel between two casts") {
  const Scenario s = scenario(bert_large_row());
  CHECK(s.training.precision == Precision{Dtype::fp16, false, true});
  const StepWork work = step_work(s.model, s.training);
  CHECK(optimizer_kinds(work) ==
        std::vector{PassKind::cast_up, PassKind::adamw, PassKind::cast_down});
  CHECK(std::get<Pass>(work.optimizer[1].work).dtype == Dtype::fp32);
  CHECK_FALSE(work.optimizer_waits);
}

TEST_CASE("fp32 stacks from before fused attention update arithmetic step by arithmetic step") {
  MeasuredRun row = bert_large_row();
  row.precision = "fp32";
  row.std_compute = "fp32";
  const Scenario s = scenario(row);
  CHECK_FALSE(s.training.fused_optimizer);
  const StepWork work = step_work(s.model, s.training);
  double moved = 0;
  for (const Operator& op : work.optimizer) moved += bytes(std::get<Pass>(op.work)).value;
  // 6 kernels of two operands and a result, 8 of one operand and a result, 4 bytes each.
  CHECK(moved / static_cast<double>(work.parameters) == Approx((6 * 3 + 8 * 2) * 4).epsilon(0.001));
  CHECK(work.optimizer_waits);
  row.family = "encoder (BERT, LAMB)";  // LAMB has only ever been fused
  CHECK(scenario(row).training.fused_optimizer);
}

TEST_CASE("scores as a tensor are scaled, masked, normalised and dropped out by a pass each") {
  Scenario s = scenario(bert_large_row());
  const auto over_scores = [&](const std::vector<Operator>& operators) {
    return std::ranges::count_if(operators, [&](const Operator& op) {
      const auto* pass = std::get_if<Pass>(&op.work);
      return pass != nullptr && pass->cols == 384 && pass->rows == 4 * 16 * 384;
    });
  };
  StepWork work = step_work(s.model, s.training);
  CHECK(over_scores(work.block.forward) == 4);   // scale, mask, softmax, dropout
  CHECK(over_scores(work.block.backward) == 3);  // the mask has no gradient
  s.model.dropout = 0;
  work = step_work(s.model, s.training);
  CHECK(over_scores(work.block.forward) == 3);
  CHECK(over_scores(work.block.backward) == 2);
}
