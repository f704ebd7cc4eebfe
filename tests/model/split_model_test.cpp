// What one rank of tensor, sequence and context parallelism does, against the whole model's work
// and against published counts of bytes.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "model/io/builtin.h"
#include "model/io/model_file.h"
#include "model/scenario_rules.h"
#include "model/transformer.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

Scenario scenario(const ModelShape& shape, std::int64_t tensor, std::int64_t context = 1) {
  Scenario s;
  s.model = shape;
  s.model.vocab = (shape.vocab + 1023) / 1024 * 1024;  // as Megatron-LM pads it for 8 ranks
  s.training.batch = 2;
  s.training.seq = 512;
  s.cluster.gpu = "toy";
  s.cluster.link = "wire";
  s.cluster.gpus = tensor * context;
  s.parallel.tensor = tensor;
  s.parallel.context = context;
  return s;
}

std::vector<ModelShape> builtin_models() {
  std::vector<ModelShape> models;
  for (const std::string_view name : builtin_names("models")) {
    models.push_back(read_model(std::string(name)));
  }
  return models;
}

// Every built-in model in every split that it allows.
std::vector<Scenario> all_splits() {
  std::vector<Scenario> all;
  for (const ModelShape& shape : builtin_models()) {
    for (const std::int64_t tensor : {1, 2, 4, 8}) {
      for (const std::int64_t context : {1, 2, 4}) {
        for (const bool sequence : {false, true}) {
          Scenario s = scenario(shape, tensor, context);
          s.parallel.sequence = sequence;
          s.parallel.context_mode = tensor == 2   ? ContextMode::all_gather
                                    : tensor == 4 ? ContextMode::all_to_all
                                                  : ContextMode::ring;
          if (violations(s).empty()) all.push_back(s);
        }
      }
    }
  }
  REQUIRE(all.size() > 200);
  return all;
}

std::vector<const StageWork*> stages(const StepWork& work) {
  return {&work.embedding, &work.block, &work.head};
}

double flops_of(const std::vector<Operator>& operators) {
  double sum = 0;
  for (const Operator& op : operators) {
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) sum += flops(*gemm).value;
    if (const auto* attention = std::get_if<Attention>(&op.work)) sum += flops(*attention).value;
  }
  return sum;
}

double flops_of(const StepWork& work) {
  const double blocks = static_cast<double>(work.blocks);
  const auto both = [](const StageWork& s) { return flops_of(s.forward) + flops_of(s.backward); };
  return both(work.embedding) + blocks * both(work.block) + both(work.head);
}

double bytes_of(const std::vector<Exchange>& list, CollectiveKind kind) {
  double sum = 0;
  for (const Exchange& e : list) sum += e.kind == kind ? e.bytes : 0;
  return sum;
}

bool equal(const std::vector<Operator>& a, const std::vector<Operator>& b) {
  return std::ranges::equal(a, b, [](const Operator& x, const Operator& y) {
    if (x.label != y.label || x.work.index() != y.work.index()) return false;
    if (const auto* g = std::get_if<Gemm>(&x.work)) {
      const Gemm& o = std::get<Gemm>(y.work);
      return g->m == o.m && g->n == o.n && g->k == o.k && g->batch == o.batch &&
             g->layout == o.layout && g->dtype == o.dtype;
    }
    if (const auto* t = std::get_if<Attention>(&x.work)) {
      const Attention& o = std::get<Attention>(y.work);
      return t->batch == o.batch && t->heads == o.heads && t->kv_heads == o.kv_heads &&
             t->seq == o.seq && t->causal == o.causal && t->backward == o.backward;
    }
    if (const auto* c = std::get_if<Convolution>(&x.work)) {
      const Convolution& o = std::get<Convolution>(y.work);
      return c->direction == o.direction && flops(*c).value == flops(o).value &&
             bytes(*c).value == bytes(o).value;
    }
    const Pass& p = std::get<Pass>(x.work);
    const Pass& o = std::get<Pass>(y.work);
    return p.kind == o.kind && p.rows == o.rows && p.cols == o.cols && p.dtype == o.dtype;
  });
}

// Megatron-LM's block as Korthikanti et al. 2022 count it: GPT, dropout, 16 bits, scores in memory.
Scenario counted_block(std::int64_t tensor) {
  ModelShape shape = read_model("gpt2-1558m");
  shape.heads = 16;
  shape.kv_heads = 16;
  shape.head_dim = shape.hidden / 16;
  shape.dropout = 0.1;
  Scenario s = scenario(shape, tensor);
  s.training.flash_attention = false;
  return s;
}

}  // namespace

TEST_CASE("a model on one rank of tensor and context parallelism is the whole model") {
  for (const ModelShape& shape : builtin_models()) {
    Scenario s = scenario(shape, 1);
    s.parallel.sequence = true;
    s.parallel.overlap_tensor = false;
    s.parallel.context_mode = ContextMode::all_gather;
    const StepWork one = step_work(s);
    const StepWork plain = step_work(s.model, s.training);
    for (std::size_t i = 0; i < 3; ++i) {
      const StageWork& a = *stages(one)[i];
      const StageWork& b = *stages(plain)[i];
      CHECK(equal(a.forward, b.forward));
      CHECK(equal(a.backward, b.backward));
      CHECK(a.forward_exchanges.empty());
      CHECK(a.backward_exchanges.empty());
      CHECK(a.saved_bytes == b.saved_bytes);
    }
    CHECK(one.parameters == plain.parameters);
    CHECK(one.model_flops.value == plain.model_flops.value);
    CHECK(partial_elements(one) == 0);
  }
}

TEST_CASE("the FLOP of all ranks add up to the whole model's") {
  for (const Scenario& s : all_splits()) {
    if (s.model.kv_heads % s.parallel.tensor != 0) continue;  // some heads on several ranks
    if (s.model.family == Family::bert) continue;  // its head has dense layers on every rank
    INFO(s.model.name << " tensor " << s.parallel.tensor << " context " << s.parallel.context);
    const double ranks = static_cast<double>(s.parallel.tensor * s.parallel.context);
    const double whole = flops_of(step_work(s.model, s.training));
    REQUIRE(ranks * flops_of(step_work(s)) == Approx(whole).epsilon(1e-12));
    REQUIRE(ranks * step_work(s).model_flops.value ==
            Approx(step_work(s.model, s.training).model_flops.value).epsilon(1e-12));
  }
}

TEST_CASE("key-value heads that are fewer than ranks are held by several, and count once") {
  ModelShape shape = read_model("llama2-70b");
  REQUIRE(shape.kv_heads == 8);
  const Scenario s = scenario(shape, 16);
  REQUIRE(violations(s).empty());
  const StepWork rank = step_work(s);
  const double whole = flops_of(step_work(s.model, s.training));
  CHECK(16 * flops_of(rank) > 1.005 * whole);
  CHECK(16 * rank.model_flops.value ==
        Approx(step_work(s.model, s.training).model_flops.value).epsilon(1e-12));
}

TEST_CASE("ranks hold each parameter once, but for what each of them needs whole") {
  for (const Scenario& s : all_splits()) {
    if (!s.parallel.sequence || s.model.kv_heads % s.parallel.tensor != 0) continue;
    INFO(s.model.name << " tensor " << s.parallel.tensor);
    const StepWork rank = step_work(s);
    const ModelShape& m = s.model;
    // Norms, biases after a sum and BERT's dense layers see a share of the tokens; positions see
    // all.
    const double everywhere =
        partial_elements(rank) + static_cast<double>((m.positions + m.token_types) * m.hidden);
    const double ranks = static_cast<double>(s.parallel.tensor);
    REQUIRE(ranks * static_cast<double>(rank.parameters) ==
            static_cast<double>(parameter_count(m)) + (ranks - 1) * (ranks > 1 ? everywhere : 0));
  }
}

TEST_CASE("a block sums four times tokens x hidden over its tensor-parallel ranks") {
  // Narayanan et al. 2021, section 3.2: 8 b s h (t-1)/t elements a layer, forward and backward:
  // four ring all-reduces of b s h, each 2 (t-1)/t on the wire.
  for (const char* name : {"gpt2-1558m", "llama2-7b", "llama3-8b", "bert-large"}) {
    for (const bool fused : {false, true}) {
      Scenario s = scenario(read_model(name), 2);
      s.model.heads = s.model.kv_heads = 16;
      s.model.head_dim = s.model.hidden / 16;
      s.model.fused_qkv = s.model.fused_gate_up = fused;
      INFO(name << " fused " << fused);
      const double message = 2.0 * 512 * static_cast<double>(s.model.hidden) * 2;
      const StageWork plain = step_work(s).block;
      CHECK(bytes_of(plain.forward_exchanges, CollectiveKind::all_reduce) == 2 * message);
      CHECK(bytes_of(plain.backward_exchanges, CollectiveKind::all_reduce) == 2 * message);
      CHECK(plain.forward_exchanges.size() + plain.backward_exchanges.size() == 4);
      // A gather and a scatter move what an all-reduce does; backward gathers the inputs of the
      // split matrices once more, beside products (Korthikanti et al. 2022, section 4.2.2).
      s.parallel.sequence = true;
      const StageWork split = step_work(s).block;
      CHECK(bytes_of(split.forward_exchanges, CollectiveKind::all_gather) == 2 * message);
      CHECK(bytes_of(split.forward_exchanges, CollectiveKind::reduce_scatter) == 2 * message);
      CHECK(bytes_of(split.backward_exchanges, CollectiveKind::reduce_scatter) == 2 * message);
      CHECK(bytes_of(split.backward_exchanges, CollectiveKind::all_gather) == 4 * message);
      const auto beside = std::ranges::count_if(split.backward_exchanges,
                                                [](const Exchange& e) { return e.beside > 0; });
      CHECK(beside == 4);
    }
  }
}

TEST_CASE("without overlap no message of tensor parallelism runs beside anything") {
  for (const bool sequence : {false, true}) {
    Scenario s = scenario(read_model("llama2-7b"), 4);
    s.parallel.sequence = sequence;
    s.parallel.overlap_tensor = false;
    const StepWork work = step_work(s);
    for (const StageWork* stage : stages(work)) {
      for (const Exchange& e : stage->backward_exchanges) CHECK(e.beside == 0);
    }
  }
}

TEST_CASE("the loss over a split vocabulary exchanges three fp32 numbers a token") {
  Scenario s = scenario(read_model("llama2-7b"), 4);
  for (const bool compile : {false, true}) {
    s.training.compile = compile;
    const StageWork head = step_work(s).head;
    CHECK(head.forward_exchanges.size() == 3);
    CHECK(bytes_of(head.forward_exchanges, CollectiveKind::all_reduce) == 3 * 4.0 * 2 * 512);
  }
}

TEST_CASE("messages stand in order between operators that are there") {
  for (Scenario s : all_splits()) {
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      s.training.recompute = recompute;
      const StepWork work = step_work(s);
      for (const StageWork* stage : stages(work)) {
        const auto check = [](const std::vector<Exchange>& list, std::size_t operators) {
          REQUIRE(std::ranges::is_sorted(list, {}, &Exchange::before));
          for (const Exchange& e : list) {
            REQUIRE(e.before + e.beside <= operators);
            REQUIRE(e.bytes > 0);
          }
        };
        check(stage->forward_exchanges, stage->forward.size());
        check(stage->backward_exchanges, stage->backward.size());
      }
    }
  }
}

TEST_CASE("a block keeps the bytes that Korthikanti et al. count, in each of their ways") {
  // arXiv 2205.05198, table 2, in bytes of 16-bit activations: a layer's of s tokens x b sequences.
  for (const std::int64_t t : {1, 2, 4, 8}) {
    Scenario s = counted_block(t);
    const double sbh = 2.0 * 512 * static_cast<double>(s.model.hidden);
    const double scores = 5.0 * 16 * 512 / static_cast<double>(s.model.hidden);
    const auto ranks = static_cast<double>(t);
    const auto saved = [&] { return step_work(s).block.saved_bytes; };
    CHECK(saved() == Approx(sbh * (10 + (24 + scores) / ranks)).epsilon(1e-12));
    s.training.recompute = Recompute::selective;
    CHECK(saved() == Approx(sbh * (10 + 24 / ranks)).epsilon(1e-12));
    s.training.recompute = Recompute::none;
    s.parallel.sequence = true;
    CHECK(saved() == Approx(sbh * (34 + scores) / ranks).epsilon(1e-12));
    s.training.recompute = Recompute::selective;
    CHECK(saved() == Approx(sbh * 34 / ranks).epsilon(1e-12));
    s.training.recompute = Recompute::full;
    CHECK(saved() == Approx(sbh * 2 / ranks).epsilon(1e-12));
  }
}

TEST_CASE("recomputing operators repeats every other product and no attention") {
  Scenario s = counted_block(1);
  s.training.flash_attention = true;
  const StageWork plain = step_work(s).block;
  s.training.recompute = Recompute::operators;
  const StageWork again = step_work(s).block;
  CHECK(equal(again.forward, plain.forward));
  const std::size_t more = again.backward.size() - plain.backward.size();
  REQUIRE(more > 0);
  std::size_t products = 0;
  for (std::size_t i = 0; i < more; ++i) {
    products += std::holds_alternative<Gemm>(again.backward[i].work) ? 1 : 0;
    CHECK_FALSE(std::holds_alternative<Attention>(again.backward[i].work));
  }
  // Of query-key-value, output, up and down the second and the last, which dropout needs.
  CHECK(products == 2);
  // Backward itself is as it was, and gradients come as late within it.
  CHECK(std::ranges::equal(std::span(again.backward).subspan(more),
                           std::span(plain.backward),
                           {},
                           &Operator::label,
                           &Operator::label));
  for (std::size_t i = 0; i < plain.ready.size(); ++i) {
    CHECK(again.ready[i].after == plain.ready[i].after + more);
  }
}

TEST_CASE(
    "selective recomputation runs the attention's core again, and nothing with flash attention") {
  Scenario s = counted_block(1);
  const StageWork plain = step_work(s).block;
  s.training.recompute = Recompute::selective;
  const StageWork again = step_work(s).block;
  CHECK(equal(again.forward, plain.forward));
  // Both products and the four passes between them.
  CHECK(again.backward.size() == plain.backward.size() + 6);
  const double core = 4.0 * 2 * 512 * 512 * static_cast<double>(s.model.hidden);
  CHECK(flops_of(again.backward) - flops_of(plain.backward) == core);
  CHECK(again.peak_bytes - plain.peak_bytes == Approx(plain.saved_bytes - again.saved_bytes));
  s.training.flash_attention = true;
  const StageWork flash_again = step_work(s).block;
  s.training.recompute = Recompute::none;
  CHECK(equal(flash_again.backward, step_work(s).block.backward));
}

TEST_CASE("where only the first blocks recompute the others run and keep as without") {
  Scenario s = scenario(read_model("llama2-7b"), 2);
  const StepWork plain = step_work(s);
  s.training.recompute = Recompute::full;
  const StepWork all = step_work(s);
  CHECK(all.kept_blocks == 0);
  s.training.recompute_layers = 12;
  const StepWork some = step_work(s);
  CHECK(some.blocks == 32);
  CHECK(some.kept_blocks == 20);
  CHECK(equal(some.block.backward, all.block.backward));
  CHECK(equal(some.kept_block.backward, plain.block.backward));
  CHECK(some.kept_block.backward_exchanges.size() == plain.block.backward_exchanges.size());
  CHECK(some.kept_block.saved_bytes == plain.block.saved_bytes);
  CHECK(some.parameters == plain.parameters);
  CHECK(some.model_flops.value == plain.model_flops.value);
  s.training.recompute_layers = 32;
  CHECK(step_work(s).kept_blocks == 0);
  CHECK(violations(s).empty());
  s.training.recompute_layers = 33;
  CHECK(violations(s).size() == 1);
  s.training.recompute_layers = 3;
  s.training.recompute = Recompute::selective;
  REQUIRE(violations(s).size() == 1);
  CHECK(violations(s).front().message == "recompute_layers needs recompute = \"full\"");
}

TEST_CASE("a stack's fused kernels leave the products and merge the passes between them") {
  for (const char* name : {"gpt2-1558m", "llama2-7b", "bert-large"}) {
    Scenario s = scenario(read_model(name), 1);
    s.model.dropout = 0.1;
    s.training.flash_attention = false;
    const StageWork eager = step_work(s).block;
    s.training.fused_kernels = true;
    const StageWork fused = step_work(s).block;
    INFO(name);
    CHECK(flops_of(fused.forward) == flops_of(eager.forward));
    CHECK(flops_of(fused.backward) == flops_of(eager.backward));
    const auto count = [](const std::vector<Operator>& list, std::string_view label) {
      return std::ranges::count(list, label, &Operator::label);
    };
    for (const char* gone : {"attention scale", "attention mask", "dropout"}) {
      CHECK(count(eager.forward, gone) > 0);
      CHECK(count(fused.forward, gone) == 0);
    }
    CHECK(count(fused.forward, "attention softmax") == 1);
    CHECK(count(fused.forward, "residual add") == 2);
    CHECK(count(fused.backward, "dropout") == 2);  // the mask is applied to what comes back
  }
}

TEST_CASE("ring attention passes every block on, and its gradients home") {
  for (const std::int64_t ranks : {2, 4}) {
    const Scenario s = scenario(read_model("llama3-8b"), 1, ranks);
    const StageWork block = step_work(s).block;
    const auto n = static_cast<double>(ranks);
    // Keys and values of the rank's tokens: 8 heads of 128, in bf16.
    const double kv = 2.0 * 512 / n * 2 * 8 * 128 * 2;
    CHECK(bytes_of(block.forward_exchanges, CollectiveKind::send_recv) == Approx((n - 1) * kv));
    // The blocks again, and all their gradients, which travel once all the way round.
    CHECK(bytes_of(block.backward_exchanges, CollectiveKind::send_recv) ==
          Approx((2 * n - 2) * kv));
  }
}

TEST_CASE("a sequence that is shared out keeps as many bytes less") {
  for (const ContextMode mode :
       {ContextMode::ring, ContextMode::all_gather, ContextMode::all_to_all}) {
    Scenario s = scenario(read_model("llama3-8b"), 1);
    const double whole = step_work(s).block.saved_bytes;
    s = scenario(read_model("llama3-8b"), 1, 4);
    s.parallel.context_mode = mode;
    CHECK(step_work(s).block.saved_bytes == Approx(whole / 4));
  }
}

TEST_CASE("splits that a model does not allow are named with what would do") {
  const auto message = [](const Scenario& s) {
    const auto found = violations(s);
    REQUIRE(found.size() == 1);
    return found.front().message;
  };
  Scenario s = scenario(read_model("gpt2-124m"), 8);
  CHECK_THAT(message(s), match::ContainsSubstring("heads: 12 cannot be shared out to 8 ranks"));
  s = scenario(read_model("gpt2-124m"), 4);
  s.model.vocab = 50257;
  CHECK_THAT(message(s), match::ContainsSubstring("pads it to 50688"));
  s = scenario(read_model("llama2-70b"), 1, 4);
  s.training.seq = 500;
  CHECK_THAT(message(s), match::ContainsSubstring("seq must be a multiple of 8"));
  s.training.seq = 512;
  s.training.flash_attention = false;
  CHECK_THAT(message(s), match::ContainsSubstring("flash_attention = true"));
  s = scenario(read_model("llama2-7b"), 8);
  s.training.seq = 500;
  CHECK(violations(s).empty());
  s.parallel.sequence = true;
  CHECK_THAT(message(s), match::ContainsSubstring("500 of a sequence cannot be shared out to 8"));
  s = scenario(read_model("llama2-7b"), 2);
  s.parallel.strategy = Strategy::none;
  CHECK(violations(s).empty());
  s.cluster.gpus = 4;
  CHECK_THAT(message(s), match::ContainsSubstring("gpus must be tensor x pipeline"));
}

TEST_CASE(
    "ranks that swap tokens for heads attend to whole sequences, and send each tensor's share") {
  // Jacobs et al. 2023, section 3: of query, key, value and result each rank keeps one part in
  // `ranks`.
  const ModelShape shape = read_model("llama3-8b");
  for (const std::int64_t ranks : {2, 4, 8}) {
    Scenario s = scenario(shape, 1, ranks);
    s.parallel.context_mode = ContextMode::all_to_all;
    REQUIRE(violations(s).empty());
    const StageWork block = step_work(s).block;
    const auto core = std::ranges::find_if(block.forward, [](const Operator& op) {
      return std::holds_alternative<Attention>(op.work);
    });
    REQUIRE(core != block.forward.end());
    const Attention& a = std::get<Attention>(core->work);
    CHECK(a.seq == s.training.seq);
    CHECK(a.heads == shape.heads / ranks);
    CHECK(a.kv_heads == shape.kv_heads / ranks);
    const double tokens = 2.0 * 512 / static_cast<double>(ranks);
    const double sent =
        tokens * static_cast<double>((2 * shape.heads + 2 * shape.kv_heads) * shape.head_dim) * 2;
    CHECK(bytes_of(block.forward_exchanges, CollectiveKind::all_to_all) == sent);
    CHECK(bytes_of(block.backward_exchanges, CollectiveKind::all_to_all) == sent);
    for (const Exchange& e : block.forward_exchanges) CHECK(e.axis == Axis::context);
  }
  Scenario s = scenario(shape, 4, 4);  // two key-value heads a rank
  s.parallel.context_mode = ContextMode::all_to_all;
  REQUIRE(violations(s).size() == 1);
  CHECK(violations(s).front().message ==
        "context_mode \"all-to-all\" needs context to divide the heads of a rank: 32 heads and 8 "
        "key-value heads over tensor = 4 and context = 4");
}
