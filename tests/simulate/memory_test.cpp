// What a step holds at its fullest: textbook formulas, shares, and what follows from the verdict.
#include "simulate/memory.h"

#include <algorithm>
#include <cmath>

#include "model/io/model_file.h"
#include "model/stage_liveness.h"
#include "tests/catch2.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

namespace {

Scenario scenario_of(const char* model, std::int64_t gpus, std::int64_t batch, std::int64_t seq) {
  Scenario s;
  s.model = read_model(model);
  s.training.batch = batch;
  s.training.seq = seq;
  s.cluster.gpu = "toy";
  s.cluster.gpus = gpus;
  if (gpus > 1) s.cluster.link = "wire";
  return s;
}

Memory memory(const Scenario& s, double card_bytes = 80e9) {
  GpuProfile gpu = toy_gpu();
  gpu.memory_bytes = card_bytes;
  const bool synced = s.parallel.strategy == Strategy::ddp && s.cluster.gpus > 1;
  return memory_of(step_work(s), s, gpu, synced);
}

// A GPT-2 block as papers count it: dropout behind attention and feed-forward layer, scores in
// memory.
StageLiveness paper_block(Recompute recompute, std::int64_t tensor = 1, bool sequence = false) {
  Scenario s = scenario_of("gpt2-774m", tensor, 4, 1024);
  s.parallel.tensor = tensor;
  s.parallel.sequence = sequence;
  s.model.dropout = 0.1;
  s.training.flash_attention = false;
  s.training.recompute = recompute;
  LivenessRules rules;
  rules.dropout = true;
  rules.tensor_ranks = static_cast<double>(tensor);
  rules.recompute = recompute;
  rules.gradient_bytes = 2;
  rules.boundary_bytes = 4.0 * 1024 * 1280 * 2;
  return walk_stage(step_work(s).block, rules);
}

constexpr double sbh = 1024.0 * 4 * 1280;
constexpr double norm_statistics = 2 * 8 * 1024.0 * 4;

}  // namespace

TEST_CASE("a block keeps s b h (34 + 5 a s / h) bytes (Korthikanti et al. 2022, equation 1)") {
  const double scores = 5 * 20 * 1024.0 * 1024 * 4;
  CHECK(paper_block(Recompute::none).saved == 34 * sbh + scores + norm_statistics);
}

TEST_CASE("over t tensor-parallel ranks it keeps s b h (10 + 24 / t + 5 a s / h t) (equation 2)") {
  const double scores = 5 * 20 * 1024.0 * 1024 * 4;
  const StageLiveness four = paper_block(Recompute::none, 4);
  CHECK(four.saved == 10 * sbh + 24 * sbh / 4 + scores / 4 + norm_statistics);
}

TEST_CASE("with sequence parallelism all of it is shared out (equation 4)") {
  const StageLiveness whole = paper_block(Recompute::none);
  const StageLiveness four = paper_block(Recompute::none, 4, true);
  CHECK(four.saved == whole.saved / 4);
}

TEST_CASE("a rank of context parallelism keeps its share of the sequence") {
  Scenario s = scenario_of("llama3.2-1b", 1, 1, 8192);
  const double whole = walk_stage(step_work(s).block, {}).saved;
  s.cluster.gpus = s.parallel.context = 4;
  for (const ContextMode mode :
       {ContextMode::ring, ContextMode::all_gather, ContextMode::all_to_all}) {
    s.parallel.context_mode = mode;
    CHECK(walk_stage(step_work(s).block, {}).saved == Approx(whole / 4));
  }
}

TEST_CASE("selective recomputation keeps 34 s b h bytes, full recomputation 2 s b h") {
  CHECK(paper_block(Recompute::selective).saved == 34 * sbh + norm_statistics);
  CHECK(paper_block(Recompute::full).saved == 2 * sbh);
  // What is not kept is made again: backward is as full as it was.
  CHECK(paper_block(Recompute::full).backward.sum() == paper_block(Recompute::none).backward.sum());
}

TEST_CASE("query, key and value read one tensor, unless autocast casts it for each") {
  Scenario s = scenario_of("bert-large", 1, 1, 512);
  s.model.fused_qkv = true;
  const auto saved = [&](bool mixed, bool fused) {
    s.model.fused_qkv = fused;
    s.training.precision.mixed = mixed;
    LivenessRules rules;
    rules.mixed = mixed;
    return walk_stage(step_work(s).block, rules).saved;
  };
  CHECK(saved(false, false) == saved(false, true));
  CHECK(saved(true, false) - saved(true, true) == 2 * 512.0 * 1024 * 2);
}

TEST_CASE("pure 16-bit training with AdamW holds 6 bytes a parameter before gradients come") {
  const Scenario s = scenario_of("llama3.2-1b", 1, 1, 1024);
  const auto parameters = static_cast<double>(parameter_count(s.model));
  const Memory m = memory(s);
  CHECK(m.parameters == 2 * parameters);
  CHECK(m.optimizer == 4 * parameters);
  CHECK(m.gradients == 2 * parameters);
  Scenario mixed = s;
  mixed.training.precision.mixed = true;
  CHECK(memory(mixed).parameters + memory(mixed).optimizer == 12 * parameters);
  Scenario master = s;
  master.training.precision.master = true;
  CHECK(memory(master).parameters + memory(master).optimizer == 14 * parameters);
}

TEST_CASE("sharding over N ranks divides exactly the states that it shares out") {
  for (const std::int64_t ranks : {2, 8, 64}) {
    const auto n = static_cast<double>(ranks);
    Scenario s = scenario_of("gpt2-774m", ranks, 1, 1024);
    const Memory whole = memory(s);
    for (const Strategy strategy :
         {Strategy::zero1, Strategy::zero2, Strategy::zero3, Strategy::fsdp}) {
      s.parallel.strategy = strategy;
      const Memory m = memory(s);
      INFO(ranks << " ranks, " << strategy_names[static_cast<std::size_t>(strategy)]);
      CHECK(m.optimizer == whole.optimizer / n);
      CHECK(m.gradients == (shards_gradients(strategy) ? whole.gradients / n : whole.gradients));
      CHECK(m.parameters ==
            (shards_parameters(strategy) ? whole.parameters / n : whole.parameters));
      CHECK(m.peak < whole.peak);
    }
  }
}

TEST_CASE("hybrid sharding divides by the ranks of its group") {
  Scenario s = scenario_of("gpt2-774m", 64, 1, 1024);
  s.parallel.strategy = Strategy::fsdp;
  s.parallel.shard_group = 8;
  Scenario eight = scenario_of("gpt2-774m", 8, 1, 1024);
  eight.parallel.strategy = Strategy::fsdp;
  CHECK(memory(s).parameters == memory(eight).parameters);
  CHECK(memory(s).peak == memory(eight).peak);
}

TEST_CASE("every unit fetched ahead lies gathered, and all do that are not given back") {
  Scenario s = scenario_of("llama2-7b", 64, 1, 512);
  s.parallel.strategy = Strategy::fsdp;
  const auto gathered = [&](std::int64_t prefetch, bool reshard) {
    s.parallel.prefetch = prefetch;
    s.parallel.reshard_after_forward = reshard;
    const Memory m = memory(s);
    return m.at_peak.communication;
  };
  double block = 0;
  for (const GradientReady& r : step_work(s).block.ready) block += static_cast<double>(r.elements);
  CHECK(gathered(2, true) - gathered(1, true) == 2 * block);
  CHECK(gathered(1, false) - gathered(1, true) == 2 * block * 30);
}

TEST_CASE("the parts at the peak are the peak, and a card needs more than that") {
  for (const char* model : {"gpt2-124m", "llama3.2-1b", "bert-large-mlm"}) {
    for (const std::int64_t gpus : {1, 4}) {
      const Memory m = memory(scenario_of(model, gpus, 2, 512));
      CHECK(m.at_peak.sum() == Approx(m.peak));
      CHECK(m.needed == m.peak + m.reserve);
      CHECK(m.reserve > 0);
      CHECK(m.remedies.empty());
    }
  }
}

TEST_CASE("accumulated gradients and DDP's buckets are there when the loss is computed") {
  Scenario s = scenario_of("gpt2-124m", 1, 8, 1024);
  const Memory once = memory(s);
  REQUIRE(once.moment == MemoryMoment::loss);
  CHECK(once.at_peak.gradients == 0);
  s.training.accumulation = 4;
  const Memory often = memory(s);
  CHECK(often.at_peak.gradients == often.gradients);
  CHECK(often.peak >= once.peak + often.gradients);
  const Memory two = memory(scenario_of("gpt2-124m", 2, 8, 1024));
  CHECK(two.peak - once.peak == two.buckets);
  CHECK(two.buckets == 2.0 * static_cast<double>(parameter_count(s.model)));
}

TEST_CASE("an update in a loop takes two copies of its largest tensor, one of fused kernels none") {
  // A large table and little else: the update is the fullest moment.
  Scenario s = scenario_of("bert-base", 1, 1, 8);
  const Memory fused = memory(s);
  s.training.fused_optimizer = false;
  const Memory loop = memory(s);
  REQUIRE(loop.moment == MemoryMoment::update);
  CHECK(loop.at_peak.temporaries == 2.0 * 2 * 30522 * 768);
  CHECK(loop.peak > fused.peak);
}

TEST_CASE("the first pipeline stage of 1F1B keeps as many micro-batches as there are stages") {
  Scenario s = scenario_of("llama2-7b", 4, 1, 2048);
  s.parallel.pipeline = 4;
  s.training.accumulation = 16;
  Scenario two = s;
  two.training.accumulation = 2;
  const Memory m = memory(s);
  const Memory less = memory(two);
  CHECK(m.stage == 0);
  CHECK(m.activations == 2 * less.activations);
  s.parallel.schedule = PipelineSchedule::gpipe;
  // All keep all sixteen then, and the last has the head's beside its blocks'.
  CHECK(memory(s).stage == 3);
  CHECK(memory(s).activations > 4 * m.activations);
}

TEST_CASE("more memory never makes a plan unfit, and never a smaller largest batch") {
  const Scenario s = scenario_of("llama3.2-1b", 1, 4, 2048);
  std::int64_t largest = 0;
  bool fits = false;
  for (double bytes = 8e9; bytes < 400e9; bytes *= 1.17) {
    const Memory m = memory(s, bytes);
    CHECK(m.fits >= fits);
    CHECK(m.largest_batch >= largest);
    CHECK(m.fits == (m.largest_batch >= 4));
    fits = m.fits;
    largest = m.largest_batch;
  }
  CHECK(fits);
}

TEST_CASE("a plan that does not fit names its largest part and what would help") {
  const Scenario s = scenario_of("llama2-7b", 4, 16, 2048);
  const Memory m = memory(s, 80e9);
  REQUIRE_FALSE(m.fits);
  CHECK(largest_part(m.at_peak).name == "activations");
  CHECK(m.largest_batch >= 1);
  REQUIRE_FALSE(m.remedies.empty());
  CHECK(m.remedies.front().fits);
  const auto has = [&](RemedyKind kind) {
    return std::ranges::find(m.remedies, kind, &Remedy::kind) != m.remedies.end();
  };
  CHECK(has(RemedyKind::smaller_batch));
  CHECK(has(RemedyKind::recompute));
  CHECK(has(RemedyKind::shard));
  for (const Remedy& r : m.remedies) {
    Scenario changed = s;
    switch (r.kind) {
      case RemedyKind::smaller_batch:
        changed.training.batch = r.value;
        break;
      case RemedyKind::recompute:
        changed.training.recompute = Recompute::full;
        break;
      case RemedyKind::shard:
        changed.parallel.strategy = Strategy::fsdp;
        break;
      case RemedyKind::more_gpus:
        changed.parallel.strategy = Strategy::fsdp;
        changed.cluster.gpus = r.value;
        break;
    }
    const Memory after = memory(changed, 80e9);
    CHECK(after.fits == r.fits);
    CHECK(after.needed < m.needed);
  }
}

TEST_CASE("states that no card of the group can hold ask for more GPUs") {
  const Memory m = memory(scenario_of("llama2-70b", 8, 1, 2048), 80e9);
  REQUIRE_FALSE(m.fits);
  CHECK(m.largest_batch == 0);
  const auto more = std::ranges::find(m.remedies, RemedyKind::more_gpus, &Remedy::kind);
  const auto shard = std::ranges::find(m.remedies, RemedyKind::shard, &Remedy::kind);
  REQUIRE(shard != m.remedies.end());
  CHECK((shard->fits || more != m.remedies.end()));
}
