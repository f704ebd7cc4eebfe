#include "simulate/step_links.h"

#include "simulate/price_cache.h"

namespace stepsight {

namespace {

class Resolver {
 public:
  Resolver(const GpuProfile& gpu, const Scenario& scenario, PriceCache* cache)
      : gpu_(gpu), scenario_(scenario), cache_(cache) {}

  void add(Axis axis, CollectiveKind kind) {
    Link& link = links.groups[static_cast<std::size_t>(axis)][static_cast<std::size_t>(kind)];
    if (link.kind != Link::Kind::none || axis_size(scenario_, axis) <= 1) return;
    link = resolve(group_of(scenario_, axis, kind));
  }
  void add(const StageWork& stage) {
    for (const auto* list : {&stage.forward_exchanges, &stage.backward_exchanges}) {
      for (const Exchange& e : *list) add(e.axis, e.kind);
    }
  }

  [[nodiscard]] Link resolve(const CollectiveGroup& group) const {
    return cache_ != nullptr ? cache_->collective(scenario_.cluster, group)
                             : resolve_collective(gpu_, scenario_.cluster, group);
  }

  StepLinks links;

 private:
  const GpuProfile& gpu_;
  const Scenario& scenario_;
  PriceCache* cache_;
};

}  // namespace

StepLinks resolve_links(const GpuProfile& gpu,
                        const Scenario& scenario,
                        const StepWork& work,
                        PriceCache* cache) {
  Resolver found(gpu, scenario, cache);
  for (const StageWork* stage : {&work.embedding, &work.block, &work.head}) found.add(*stage);
  if (partial_elements(work) > 0) found.add(Axis::tensor, CollectiveKind::all_reduce);
  const Strategy strategy = scenario.parallel.strategy;
  const bool experts = scenario.parallel.expert > 1;
  if (shards_optimizer(strategy)) {
    for (const bool of_expert : {false, true}) {
      if (of_expert && !experts) continue;
      const Axis shard = of_expert ? Axis::expert_shard : Axis::shard;
      found.add(shard, CollectiveKind::all_gather);
      found.add(shard, CollectiveKind::reduce_scatter);
      found.add(shard, gradient_collective(scenario.training.precision));
      found.add(of_expert ? Axis::expert_replicate : Axis::replicate, CollectiveKind::all_reduce);
    }
  } else if (strategy == Strategy::ddp) {
    found.add(Axis::data, CollectiveKind::all_reduce);
    if (experts) found.add(Axis::expert_data, CollectiveKind::all_reduce);
    found.links.gradients = found.links.of(Axis::data, CollectiveKind::all_reduce);
  }
  if (scenario.parallel.pipeline > 1) {
    const CollectiveGroup all = group_of(scenario, Axis::pipeline, CollectiveKind::send_recv);
    const CollectiveGroup pair{
        CollectiveKind::send_recv, 2, all.nodes > 1 ? 2 : 1, all.nodes > 1 ? all.sharing : 1};
    found.add(Axis::tensor, CollectiveKind::all_gather);
    found.links.neighbours = found.resolve(pair);
    if (scenario.model.tied_head) {
      const CollectiveGroup ends{CollectiveKind::all_reduce, 2, pair.nodes, pair.sharing};
      found.links.ends = found.resolve(ends);
    }
  }
  const Link alone = loopback_link(scenario.cluster);
  if (alone.kind == Link::Kind::loopback) found.links.gradients = alone;
  return found.links;
}

}  // namespace stepsight
