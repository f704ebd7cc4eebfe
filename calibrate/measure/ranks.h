// Which of how many processes this one is, from the variables that launchers set.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stepsight::calibrate {

struct RankInfo {
  int rank = 0;
  int world = 1;
  int local_rank = 0;         // picks the GPU
  std::string launcher = {};  // "torchrun", "mpirun", "srun"; empty for a process on its own
  std::string address = {};   // where rank 0 listens; empty when only a file can tell
  int port = 29533;
};

// A variable's value, or nullopt: std::getenv in the binaries, a table in the tests.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

// First that is set of: RANK + WORLD_SIZE (LOCAL_RANK), OMPI_COMM_WORLD_RANK + _SIZE (_LOCAL_RANK),
// SLURM_PROCID + SLURM_NTASKS (SLURM_LOCALID; not for a single task, which sbatch alone also sets).
// MASTER_ADDR and MASTER_PORT count for all three; where torchrun's agent already listens on that
// port itself (TORCHELASTIC_USE_AGENT_STORE=True) the next one is taken. Without MASTER_ADDR the
// address is 127.0.0.1 where the launcher says that all ranks share a node, and srun's first node
// where it names them. Throws UserError for a number that is none or a rank outside 0..world-1.
RankInfo read_ranks(const Environment& environment);

// First host of a Slurm list: "gpu[07-09,12],cpu3" -> "gpu07".
std::string first_slurm_host(std::string_view list);

Environment process_environment();

}  // namespace stepsight::calibrate
