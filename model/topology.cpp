#include "model/topology.h"

namespace stepsight {

std::uint32_t add_vertex(Topology& t, VertexKind kind) {
  t.vertices.push_back({kind});
  return static_cast<std::uint32_t>(t.vertices.size() - 1);
}

void add_edge(Topology& t,
              std::uint32_t a,
              std::uint32_t b,
              EdgeKind kind,
              double GBps,
              double latency_us,
              std::int32_t lanes) {
  t.edges.push_back({a, b, kind, GBps, latency_us, lanes});
}

std::vector<std::vector<Neighbour>> neighbours(const Topology& t) {
  std::vector<std::vector<Neighbour>> out(t.vertices.size());
  for (std::uint32_t e = 0; e < t.edges.size(); ++e) {
    out[t.edges[e].a].push_back({t.edges[e].b, e});
    out[t.edges[e].b].push_back({t.edges[e].a, e});
  }
  return out;
}

}  // namespace stepsight
