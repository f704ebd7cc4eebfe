// The operators of a step against independent counts: published parameter counts, 6 N FLOP a token,
// and what a framework is known to launch.
#include "model/transformer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/io/builtin.h"
#include "model/io/model_file.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

Training training(std::int64_t batch, std::int64_t seq) {
  Training t;
  t.batch = batch;
  t.seq = seq;
  return t;
}

std::vector<ModelShape> builtin_models() {
  std::vector<ModelShape> models;
  for (const std::string_view name : builtin_names("models")) {
    models.push_back(read_model(std::string(name)));
  }
  REQUIRE(models.size() >= 15);
  return models;
}

// Every way in which a step can be built.
std::vector<Training> all_trainings() {
  std::vector<Training> all;
  for (const PrecisionName& precision : precisions) {
    for (int bits = 0; bits < 8; ++bits) {
      Training t = training(2, 128);
      t.precision = precision.precision;
      t.compile = (bits & 1) != 0;
      t.flash_attention = (bits & 2) != 0;
      t.recompute = (bits & 4) != 0 ? Recompute::full : Recompute::none;
      all.push_back(t);
    }
  }
  return all;
}

std::int64_t ready_elements(const StageWork& stage) {
  std::int64_t sum = 0;
  for (const GradientReady& r : stage.ready) sum += r.elements;
  return sum;
}

std::size_t passes_in(const std::vector<Operator>& operators) {
  return static_cast<std::size_t>(std::ranges::count_if(
      operators, [](const Operator& op) { return std::holds_alternative<Pass>(op.work); }));
}

std::size_t gemms_in(const std::vector<Operator>& operators) {
  return static_cast<std::size_t>(std::ranges::count_if(
      operators, [](const Operator& op) { return std::holds_alternative<Gemm>(op.work); }));
}

bool positive(const Work& work) {
  if (const auto* g = std::get_if<Gemm>(&work)) return std::min({g->m, g->n, g->k, g->batch}) > 0;
  if (const auto* a = std::get_if<Attention>(&work)) {
    return std::min({a->batch, a->heads, a->kv_heads, a->seq, a->head_dim}) > 0;
  }
  if (const auto* c = std::get_if<Convolution>(&work)) {
    return std::min({c->batch, c->channels, c->out, out_height(*c), out_width(*c)}) > 0;
  }
  const Pass& p = std::get<Pass>(work);
  return std::min(p.rows, p.cols) > 0;
}

}  // namespace

TEST_CASE("backward completes exactly the gradients that a model has, in every mode") {
  for (const ModelShape& shape : builtin_models()) {
    for (const Training& t : all_trainings()) {
      const StepWork work = step_work(shape, t);
      INFO(shape.name << " compile " << t.compile << " flash " << t.flash_attention);
      const std::int64_t complete = ready_elements(work.embedding) +
                                    work.blocks * ready_elements(work.block) +
                                    ready_elements(work.head);
      REQUIRE(complete == parameter_count(shape));
      REQUIRE(work.parameters == parameter_count(shape));
      REQUIRE(work.tensors == static_cast<std::int64_t>(parameter_tensors(shape).size()));
    }
  }
}

TEST_CASE("a decoder without biases has none in its norms") {
  ModelShape shape = read_model("gpt2-124m");
  shape.bias = false;
  CHECK(step_work(shape, training(1, 64)).parameters == parameter_count(shape));
}

TEST_CASE("gradients become ready in order, each after an operator that is there") {
  for (const ModelShape& shape : builtin_models()) {
    for (const Training& t : all_trainings()) {
      const StepWork work = step_work(shape, t);
      for (const StageWork* stage : {&work.embedding, &work.block, &work.head}) {
        REQUIRE(std::ranges::is_sorted(stage->ready, {}, &GradientReady::after));
        for (const GradientReady& r : stage->ready) {
          REQUIRE(r.after < stage->backward.size());
          REQUIRE(r.elements > 0);
        }
      }
    }
  }
}

TEST_CASE("every operator has sizes above zero") {
  for (const ModelShape& shape : builtin_models()) {
    for (const Training& t : all_trainings()) {
      const StepWork work = step_work(shape, t);
      for (const StageWork* stage : {&work.embedding, &work.block, &work.head}) {
        REQUIRE_FALSE(stage->forward.empty());
        REQUIRE_FALSE(stage->backward.empty());
        for (const Operator& op : stage->forward) REQUIRE(positive(op.work));
        for (const Operator& op : stage->backward) REQUIRE(positive(op.work));
      }
      for (const Operator& op : work.optimizer) REQUIRE(positive(op.work));
    }
  }
}

TEST_CASE("a Llama's model FLOP are 6 a parameter and token, and attention's") {
  // 2 FLOP a multiply-add, forward once and backward twice: 6 a weight that is multiplied (all but
  // the embedding and the norms, 0.02 % here). Attention: 12 L h s a token (Narayanan et al. 2021),
  // half of it under a causal mask.
  for (const char* name : {"llama2-7b", "llama2-70b", "llama3-8b"}) {
    const ModelShape s = read_model(name);
    const Training t = training(2, 2048);
    const auto embedding = static_cast<double>(s.vocab * s.hidden);
    const double weights = static_cast<double>(parameter_count(s)) - embedding;
    const double attention = 0.5 * 12 * static_cast<double>(s.layers * s.hidden * t.seq);
    const double tokens = 2 * 2048;
    CHECK(step_work(s, t).model_flops.value ==
          Approx((6 * weights + attention) * tokens).epsilon(5e-4));
  }
}

TEST_CASE("recomputation runs a block's forward again, before its backward") {
  const ModelShape shape = read_model("llama2-7b");
  Training t = training(1, 512);
  const StepWork plain = step_work(shape, t);
  t.recompute = Recompute::full;
  t.recompute_early_stop = false;
  const StepWork again = step_work(shape, t);
  const std::size_t forward = plain.block.forward.size();
  REQUIRE(again.block.backward.size() == forward + plain.block.backward.size());
  for (std::size_t i = 0; i < forward; ++i) {
    CHECK(again.block.backward[i].label == plain.block.forward[i].label);
  }
  REQUIRE(again.block.ready.size() == plain.block.ready.size());
  for (std::size_t i = 0; i < plain.block.ready.size(); ++i) {
    CHECK(again.block.ready[i].after == plain.block.ready[i].after + forward);
  }
  // It costs no useful FLOP, and keeps a block's input only: 512 tokens of 4096 in bf16.
  CHECK(again.model_flops.value == plain.model_flops.value);
  CHECK(again.block.saved_bytes == 512.0 * 4096 * 2);
  CHECK(again.head.saved_bytes == plain.head.saved_bytes);
}

TEST_CASE("a checkpoint that stops early leaves out what backward needs no result of") {
  Training t = training(1, 512);
  t.recompute = Recompute::full;
  const auto repeated = [&](const ModelShape& shape, bool early) {
    t.recompute_early_stop = early;
    const StageWork block = step_work(shape, t).block;
    t.recompute = Recompute::none;
    const std::size_t own = step_work(shape, t).block.backward.size();
    t.recompute = Recompute::full;
    return std::vector<Operator>(block.backward.begin(),
                                 block.backward.end() - static_cast<std::ptrdiff_t>(own));
  };
  // Llama's: the last product and the sum after it, for which only their inputs are kept.
  const ModelShape llama = read_model("llama2-7b");
  const auto whole = repeated(llama, false);
  const auto early = repeated(llama, true);
  REQUIRE(early.size() + 2 == whole.size());
  CHECK(whole[early.size()].label == "mlp down");
  CHECK(early.back().label == "gate x up");
  // Dropout keeps a mask that it draws after the last product; a post-norm block its last norm's
  // input.
  ModelShape gpt = read_model("gpt2-124m");
  gpt.dropout = 0.1;
  CHECK(repeated(gpt, true).back().label == "dropout");
  CHECK(repeated(read_model("bert-large"), true).size() ==
        repeated(read_model("bert-large"), false).size());
}

TEST_CASE("a compiled step has the same products and fewer passes") {
  for (const ModelShape& shape : builtin_models()) {
    for (const bool mixed : {false, true}) {
      INFO(shape.name);
      Training t = training(2, 128);
      t.precision.mixed = mixed;
      const StepWork eager = step_work(shape, t);
      t.compile = true;
      const StepWork compiled = step_work(shape, t);
      CHECK(passes_in(compiled.block.forward) < passes_in(eager.block.forward));
      CHECK(passes_in(compiled.block.backward) < passes_in(eager.block.backward));
      CHECK(gemms_in(compiled.block.forward) == gemms_in(eager.block.forward));
      CHECK(gemms_in(compiled.block.backward) == gemms_in(eager.block.backward));
      CHECK(compiled.model_flops.value == eager.model_flops.value);
    }
  }
}

TEST_CASE("a linear layer has one product forward and two backward") {
  for (const ModelShape& shape : builtin_models()) {
    const StepWork work = step_work(shape, training(1, 64));
    CHECK(gemms_in(work.block.backward) == 2 * gemms_in(work.block.forward));
    CHECK(gemms_in(work.head.backward) == 2 * gemms_in(work.head.forward));
  }
}

TEST_CASE("a tied head is one gradient, complete with the embedding, which comes last") {
  const auto vocabulary_gradients = [](const StepWork& work, std::int64_t elements) {
    std::size_t count = 0;
    for (const StageWork* stage : {&work.head, &work.block, &work.embedding}) {
      for (const GradientReady& r : stage->ready) count += r.elements == elements ? 1 : 0;
    }
    return count;
  };
  const ModelShape gpt = read_model("gpt2-124m");
  const StepWork tied = step_work(gpt, training(1, 64));
  CHECK(vocabulary_gradients(tied, gpt.vocab * gpt.hidden) == 1);
  CHECK(tied.embedding.ready.back().elements == gpt.vocab * gpt.hidden);
  CHECK(tied.embedding.ready.back().after + 1 == tied.embedding.backward.size());

  const ModelShape llama = read_model("llama2-7b");
  REQUIRE_FALSE(llama.tied_head);
  const StepWork own = step_work(llama, training(1, 64));
  CHECK(vocabulary_gradients(own, llama.vocab * llama.hidden) == 2);
  CHECK(own.embedding.ready.back().elements == llama.vocab * llama.hidden);
}

TEST_CASE("an encoder without a language-model head pools the first tokens") {
  ModelShape bert = read_model("bert-base");
  REQUIRE(bert.pooler);
  REQUIRE_FALSE(bert.mlm_head);
  const StepWork work = step_work(bert, training(16, 128));
  REQUIRE(gemms_in(work.head.forward) == 1);
  const auto pooler = std::ranges::find_if(
      work.head.forward, [](const Operator& op) { return std::holds_alternative<Gemm>(op.work); });
  CHECK(std::get<Gemm>(pooler->work).m == 16);  // one row a sequence, not one a token
  CHECK(std::get<Gemm>(pooler->work).n == bert.hidden);
  // No product with the vocabulary anywhere.
  for (const Operator& op : work.head.backward) {
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) CHECK(gemm->n < bert.vocab);
  }
}

TEST_CASE("autocast casts what reaches a product in fp32 and keeps parameters in fp32") {
  const ModelShape shape = read_model("gpt2-124m");
  Training t = training(1, 64);
  t.precision.mixed = true;
  const StepWork mixed = step_work(shape, t);
  const auto casts = std::ranges::count_if(mixed.block.forward, [](const Operator& op) {
    const auto* pass = std::get_if<Pass>(&op.work);
    return pass != nullptr && pass->kind == PassKind::cast_down;
  });
  // Four weights, four biases, and the inputs of qkv and mlp up (norms are in fp32).
  CHECK(casts == 10);
  CHECK(parameter_dtype(t.precision) == Dtype::fp32);
  CHECK(gradient_bytes(t) == 4);
  t.gradient_dtype = Dtype::bf16;
  CHECK(gradient_bytes(t) == 2);
  t.gradient_dtype.reset();
  t.precision.mixed = false;
  CHECK(gradient_bytes(t) == 2);
}

TEST_CASE("saved activations grow with the batch, the cast weights of autocast do not") {
  const ModelShape shape = read_model("gpt2-124m");
  Training t = training(1, 256);
  const double one = step_work(shape, t).block.saved_bytes;
  t.batch = 2;
  CHECK(step_work(shape, t).block.saved_bytes == 2 * one);
  t.precision.mixed = true;
  const double two_mixed = step_work(shape, t).block.saved_bytes;
  t.batch = 4;
  // 12 h^2 weights of a block in bf16.
  CHECK(2 * two_mixed - step_work(shape, t).block.saved_bytes == 12.0 * 768 * 768 * 2);
}

TEST_CASE("a step without tokens is a broken invariant") {
  CHECK_THROWS_AS(step_work(read_model("gpt2-124m"), training(1, 0)), std::logic_error);
}
