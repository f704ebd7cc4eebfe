#include "simulate/step_links.h"

namespace stepsight {

namespace {

class Resolver {
 public:
  Resolver(const GpuProfile& gpu, const Scenario& scenario) : gpu_(gpu), scenario_(scenario) {}

  void add(Axis axis, CollectiveKind kind) {
    Link& link = links.groups[static_cast<std::size_t>(axis)][static_cast<std::size_t>(kind)];
    if (link.kind != Link::Kind::none || axis_size(scenario_, axis) <= 1) return;
    link = resolve_collective(gpu_, scenario_.cluster, group_of(scenario_, axis, kind));
  }
  void add(const StageWork& stage) {
    for (const auto* list : {&stage.forward_exchanges, &stage.backward_exchanges}) {
      for (const Exchange& e : *list) add(e.axis, e.kind);
    }
  }

  StepLinks links;

 private:
  const GpuProfile& gpu_;
  const Scenario& scenario_;
};

}  // namespace

StepLinks resolve_links(const GpuProfile& gpu, const Scenario& scenario, const StepWork& work) {
  Resolver found(gpu, scenario);
  for (const StageWork* stage : {&work.embedding, &work.block, &work.head}) found.add(*stage);
  if (partial_elements(work) > 0) found.add(Axis::tensor, CollectiveKind::all_reduce);
  const Strategy strategy = scenario.parallel.strategy;
  if (shards_optimizer(strategy)) {
    found.add(Axis::shard, CollectiveKind::all_gather);
    found.add(Axis::shard, CollectiveKind::reduce_scatter);
    found.add(Axis::shard, gradient_collective(scenario.training.precision));
    found.add(Axis::replicate, CollectiveKind::all_reduce);
  } else if (strategy == Strategy::ddp) {
    found.add(Axis::data, CollectiveKind::all_reduce);
    found.links.gradients = found.links.of(Axis::data, CollectiveKind::all_reduce);
  }
  if (scenario.parallel.pipeline > 1) {
    const CollectiveGroup all = group_of(scenario, Axis::pipeline, CollectiveKind::send_recv);
    const CollectiveGroup pair{
        CollectiveKind::send_recv, 2, all.nodes > 1 ? 2 : 1, all.nodes > 1 ? all.sharing : 1};
    found.add(Axis::tensor, CollectiveKind::all_gather);
    found.links.neighbours = resolve_collective(gpu, scenario.cluster, pair);
    if (scenario.model.tied_head) {
      const CollectiveGroup ends{CollectiveKind::all_reduce, 2, pair.nodes, pair.sharing};
      found.links.ends = resolve_collective(gpu, scenario.cluster, ends);
    }
  }
  const Link alone = loopback_link(scenario.cluster);
  if (alone.kind == Link::Kind::loopback) found.links.gradients = alone;
  return found.links;
}

}  // namespace stepsight
