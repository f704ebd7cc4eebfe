// The matrix that `nvidia-smi topo -m` prints, as people paste it: blanks for tabs, escape codes,
// NIC columns under either name, missing legend, CPU lists with commas, columns that older drivers
// lack.
#pragma once
#include <string>
#include <string_view>

#include "model/link_class.h"
#include "model/topology.h"

namespace stepsight {

// The machine's graph. The matrix says which slots share a switch, a host bridge, a socket and
// which GPUs are joined by NVLink; generation, lanes and P2P come from `link`. GPUs that share
// nothing but "SYS" sit on a socket of their own (or a NUMA node of one: with one GPU to each of
// four or more the fabric between them is the processor's own, and fast). UserError (file:line)
// when there is no matrix, a row lacks cells, a cell is no known word, or the two halves contradict
// each other.
Topology topo_matrix_topology(const std::string& file,
                              std::string_view text,
                              const LinkClass& link);

// The same for a file, at most 1 MB.
Topology read_topo_matrix(const std::string& path, const LinkClass& link);

}  // namespace stepsight
