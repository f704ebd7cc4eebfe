// Attention, forward and backward.
#include "model/fit/fit_group.h"
#include "model/fit/fit_state.h"

namespace stepsight {

void fit_attention(FitState& f, bool backward) {
  GroupInput<AttentionPoint> group;
  group.name = backward ? "attention.backward" : "attention.forward";
  group.op = backward ? "attention_backward" : "attention";
  group.type = "bf16";
  for (const AttentionPoint& p : f.measured.attentions) {
    if (p.attention.backward == backward) group.points.push_back(p);
  }
  const std::size_t side = backward ? 1 : 0;
  const int sms = f.out.profile.multiprocessors;
  if (group.points.empty()) {
    f.out.profile.attention[side] = f.class_values.attention[side];
    record(f, group.name, f.out.profile.attention[side], nullptr, 0, f.class_source);
    return;
  }
  group.shape = [](const AttentionPoint& p) {
    const Attention& a = p.attention;
    return std::array<std::int64_t, 6>{
        a.batch, a.heads, a.kv_heads, a.seq, a.head_dim, (a.causal ? 1 : 0) + (a.dropout ? 2 : 0)};
  };
  group.at = [](const AttentionPoint& p) { return surface_point(p.attention); };
  group.solve = [&](const std::vector<AttentionPoint>& points) {
    return solve_attention(points, f.class_values.attention[side], sms);
  };
  group.formula_us = [&](const AttentionPoint& p, const std::vector<double>& values) {
    return attention_formula(p.attention, unpacked<AttentionParameters>(values), sms).value * 1e6;
  };
  GroupOutcome done = fit_group(group, f.out.points);
  f.out.profile.attention[side] = unpacked<AttentionParameters>(done.solution.values);
  f.out.profile.attention_points[side] = std::move(done.surface);
  f.out.profile.quality.push_back(done.quality);
  record(f,
         group.name,
         f.out.profile.attention[side],
         &done.solution,
         done.quality.fitted_points,
         sources_of(f, group.points));
}

}  // namespace stepsight
