// Experts shared out over data-parallel ranks: what one rank holds, computes and sends, against
// counts by hand.
#include <algorithm>
#include <string>

#include "model/io/model_file.h"
#include "model/moe.h"
#include "model/parallel_layout.h"
#include "model/scenario_rules.h"
#include "model/transformer.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

Scenario mixture(const char* model, std::int64_t gpus, std::int64_t expert) {
  Scenario s;
  s.model = read_model(model);
  s.training.batch = 1;
  s.training.seq = 4096;
  s.cluster.gpu = "toy";
  s.cluster.link = "wire";
  s.cluster.gpus = gpus;
  s.parallel.expert = expert;
  return s;
}

double flops_of(const StageWork& stage) {
  double sum = 0;
  for (const auto* list : {&stage.forward, &stage.backward}) {
    for (const Operator& op : *list) {
      if (const auto* gemm = std::get_if<Gemm>(&op.work)) sum += flops(*gemm).value;
      if (const auto* attention = std::get_if<Attention>(&op.work)) sum += flops(*attention).value;
    }
  }
  return sum;
}

std::string broken(const Scenario& s) {
  const auto found = violations(s);
  return found.empty() ? "" : found.front().message;
}

}  // namespace

TEST_CASE("ranks that share out experts hold each of them once, and compute as much as before") {
  for (const char* name : {"mixtral-8x7b", "deepseek-v2", "deepseek-v3"}) {
    const StepWork alone = step_work(mixture(name, 8, 1));
    for (const std::int64_t ranks : {2, 4, 8}) {
      const Scenario s = mixture(name, 8, ranks);
      INFO(name << " over " << ranks);
      REQUIRE(violations(s).empty());
      const StepWork work = step_work(s);
      const double elsewhere = expert_parameters(s.model) * (1 - 1 / static_cast<double>(ranks));
      CHECK(static_cast<double>(work.parameters) ==
            static_cast<double>(parameter_count(s.model)) - elsewhere);
      CHECK(expert_elements(work) == expert_parameters(s.model) / static_cast<double>(ranks));
      CHECK(flops_of(work.block) == Approx(flops_of(alone.block)).epsilon(0.01));
      CHECK(work.model_flops.value == alone.model_flops.value);
    }
    CHECK(expert_elements(alone) == 0);  // nobody else holds them
  }
}

TEST_CASE("each direction of a layer moves tokens x top-k x hidden once, but for what stays") {
  for (const char* name : {"mixtral-8x7b", "deepseek-v3"}) {
    for (const std::int64_t ranks : {2, 4, 8}) {
      const Scenario s = mixture(name, 8, ranks);
      const StageWork block = step_work(s).block;
      const double own =
          4096.0 * static_cast<double>(s.model.experts_per_token * s.model.hidden) * 2;
      for (const auto* list : {&block.forward_exchanges, &block.backward_exchanges}) {
        REQUIRE(list->size() == 2);  // dispatch and combine
        for (const Exchange& e : *list) {
          CHECK(e.axis == Axis::expert);
          CHECK(e.kind == CollectiveKind::all_to_all);
          const double wire = e.bytes * traffic_factor(e.kind, ranks);
          CHECK(wire == Approx(own * static_cast<double>(ranks - 1) / static_cast<double>(ranks)));
        }
      }
    }
  }
}

TEST_CASE("the fullest rank has more rows and receives more, all layers alike") {
  Scenario s = mixture("mixtral-8x7b", 8, 8);
  const StageWork even = step_work(s).block;
  s.parallel.expert_imbalance = 1.5;
  const StageWork uneven = step_work(s).block;
  CHECK(uneven.forward_exchanges.front().bytes == 1.5 * even.forward_exchanges.front().bytes);
  const auto rows = [](const StageWork& block) {
    const auto up = std::ranges::find_if(block.forward, [](const Operator& op) {
      return op.label == "expert up" && std::holds_alternative<Gemm>(op.work);
    });
    return std::get<Gemm>(up->work).m;
  };
  CHECK(rows(even) == 4096 * 2);  // 8 ranks' tokens, one expert
  CHECK(rows(uneven) == 4096 * 3);
  s.parallel.expert = 1;  // on one rank some experts get more, and others less
  CHECK(rows(step_work(s).block) == 4096 * 2 / 8);
}

TEST_CASE(
    "tensor-parallel ranks hold a part of every expert and gather what came for all of them") {
  Scenario s = mixture("mixtral-8x7b", 16, 4);
  s.parallel.tensor = 4;
  s.parallel.sequence = true;
  REQUIRE(violations(s).empty());
  const StageWork block = step_work(s).block;
  const double copies =
      4096.0 * 2 * 4096 * 2;  // tokens x top-k x hidden in bf16, of all four ranks
  const auto bytes = [&](const std::vector<Exchange>& list, std::string_view label) {
    const auto at = std::ranges::find(list, label, &Exchange::label);
    REQUIRE(at != list.end());
    return at->bytes;
  };
  CHECK(bytes(block.forward_exchanges, "dispatch") == copies / 4);
  CHECK(bytes(block.forward_exchanges, "dispatched") == copies);
  CHECK(bytes(block.forward_exchanges, "results") == copies);
  CHECK(bytes(block.backward_exchanges, "dispatched") == copies);
  const auto up = std::ranges::find_if(block.forward, [](const Operator& op) {
    return op.label == "expert up" && std::holds_alternative<Gemm>(op.work);
  });
  const Gemm& g = std::get<Gemm>(up->work);
  CHECK(g.batch == 2);  // of eight experts
  CHECK(g.m == 4096);   // 4 x 4096 tokens x 2 / 8
  CHECK(g.n == 14336 / 4);
  s.parallel.sequence = false;
  CHECK(
      broken(s) ==
      "tensor > 1 needs sequence = true for models with experts: each rank routes its own tokens");
  s.parallel.sequence = true;
  s.model.expert_ffn = 14338;
  CHECK_THAT(broken(s),
             match::ContainsSubstring("expert_ffn: 14338 cannot be shared out to 4 ranks"));
}

TEST_CASE("padding to the experts' capacity travels, too") {
  Scenario s = mixture("mixtral-8x7b", 8, 4);
  const double plain = step_work(s).block.forward_exchanges.front().bytes;
  s.model.capacity_factor = 1.25;
  CHECK(step_work(s).block.forward_exchanges.front().bytes == 1.25 * plain);
}

TEST_CASE("experts are shared out inside data parallelism, next to each other") {
  Scenario s = mixture("mixtral-8x7b", 32, 8);
  s.cluster.nodes = 4;
  CHECK(axis_size(s, Axis::expert) == 8);
  CHECK(axis_size(s, Axis::expert_data) == 4);
  CHECK(group_of(s, Axis::expert, CollectiveKind::all_to_all).nodes == 1);
  // The same experts lie on one rank of each machine: eight groups share its network.
  const CollectiveGroup same = group_of(s, Axis::expert_data, CollectiveKind::all_reduce);
  CHECK(same.nodes == 4);
  CHECK(same.sharing == 8);
  // With stages inside data parallelism an expert's ranks spread over the machines.
  s.parallel.pipeline = 4;
  s.training.accumulation = 4;
  s.parallel.order = "tp-cp-pp-dp";
  CHECK(group_of(s, Axis::expert, CollectiveKind::all_to_all).nodes == 4);
}

TEST_CASE("experts' states are sharded among the ranks that hold the same ones") {
  Scenario s = mixture("mixtral-8x7b", 32, 8);
  s.cluster.nodes = 4;
  s.parallel.strategy = Strategy::zero1;
  CHECK(axis_size(s, Axis::expert_shard) == 4);
  CHECK(axis_size(s, Axis::expert_replicate) == 1);
  s.parallel.shard_group = 8;
  CHECK(axis_size(s, Axis::expert_shard) == 1);
  CHECK(axis_size(s, Axis::expert_replicate) == 4);
  s.parallel.shard_group = 16;
  CHECK(axis_size(s, Axis::expert_shard) == 2);
  CHECK(axis_size(s, Axis::expert_replicate) == 2);
}

TEST_CASE("impossible ways to share out experts are named") {
  CHECK(broken(mixture("mixtral-8x7b", 8, 8)).empty());
  CHECK(broken(mixture("llama2-7b", 8, 8)) ==
        "expert must be 1 for a model without experts (mixtures have `experts` in [model])");
  CHECK(broken(mixture("mixtral-8x7b", 32, 16)) ==
        "expert must divide the model's experts: 8 cannot be shared out to 16 ranks");
  CHECK(broken(mixture("mixtral-8x7b", 12, 8)) ==
        "expert must divide the 12 data-parallel ranks, got 8");
  Scenario s = mixture("deepseek-v3", 48, 16);
  s.parallel.strategy = Strategy::zero1;
  s.parallel.shard_group = 24;
  CHECK(broken(s) == "of expert and shard_group one must divide the other, got 16 and 24");
  s = mixture("mixtral-8x7b", 8, 8);
  s.parallel.pipeline = 4;
  CHECK(broken(s) == "expert must divide the 2 data-parallel ranks, got 8");
}
