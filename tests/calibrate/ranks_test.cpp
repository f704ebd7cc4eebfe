#include "calibrate/measure/ranks.h"

#include <map>

#include "model/errors.h"
#include "tests/catch2.h"

namespace stepsight::calibrate {
namespace {

RankInfo read(std::map<std::string, std::string> variables) {
  return read_ranks([variables](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

}  // namespace

TEST_CASE("a process without a launcher is alone") {
  const RankInfo r = read({});
  CHECK(r.rank == 0);
  CHECK(r.world == 1);
  CHECK(r.launcher.empty());
}

TEST_CASE("torchrun's variables give rank, world, GPU and place") {
  const RankInfo r = read({{"RANK", "11"},
                           {"WORLD_SIZE", "16"},
                           {"LOCAL_RANK", "3"},
                           {"MASTER_ADDR", "node0"},
                           {"MASTER_PORT", "29500"}});
  CHECK(r.rank == 11);
  CHECK(r.world == 16);
  CHECK(r.local_rank == 3);
  CHECK(r.address == "node0");
  CHECK(r.port == 29500);
  CHECK(r.launcher == "torchrun");
}

TEST_CASE("the port that torchrun's agent listens on is not taken a second time") {
  const RankInfo r = read({{"RANK", "0"},
                           {"WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "node0"},
                           {"MASTER_PORT", "29500"},
                           {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK(r.port == 29501);
}

TEST_CASE("mpirun on one node needs no address") {
  const RankInfo r = read({{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  CHECK(r.rank == 1);
  CHECK(r.world == 4);
  CHECK(r.address == "127.0.0.1");
  CHECK(r.launcher == "mpirun");
}

TEST_CASE("mpirun on two nodes leaves the address open unless MASTER_ADDR is set") {
  std::map<std::string, std::string> variables{{"OMPI_COMM_WORLD_RANK", "9"},
                                               {"OMPI_COMM_WORLD_SIZE", "16"},
                                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}};
  CHECK(read(variables).address.empty());
  variables["MASTER_ADDR"] = "10.0.0.1";
  CHECK(read(variables).address == "10.0.0.1");
}

TEST_CASE("srun's first node is where rank 0 is") {
  const RankInfo r = read({{"SLURM_PROCID", "5"},
                           {"SLURM_NTASKS", "8"},
                           {"SLURM_LOCALID", "1"},
                           {"SLURM_STEP_NODELIST", "gpu[07-08]"}});
  CHECK(r.rank == 5);
  CHECK(r.local_rank == 1);
  CHECK(r.address == "gpu07");
  CHECK(r.launcher == "srun");
}

TEST_CASE("a batch script of one Slurm task is a process on its own") {
  CHECK(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}).launcher.empty());
}

TEST_CASE("RANK counts before the variables of mpirun") {
  const RankInfo r = read({{"RANK", "1"},
                           {"WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_RANK", "7"},
                           {"OMPI_COMM_WORLD_SIZE", "8"}});
  CHECK(r.rank == 1);
  CHECK(r.world == 2);
}

TEST_CASE("ranks that cannot be are refused by name") {
  CHECK_THROWS_WITH(read({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
                    match::ContainsSubstring("RANK='2'"));
  CHECK_THROWS_WITH(read({{"RANK", "0"}, {"WORLD_SIZE", "two"}}),
                    match::ContainsSubstring("WORLD_SIZE='two'"));
  CHECK_THROWS_AS(read({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), UserError);
  CHECK_THROWS_AS(read({{"RANK", ""}, {"WORLD_SIZE", "2"}}), UserError);
  CHECK_THROWS_AS(read({{"MASTER_PORT", "70000"}}), UserError);
}

TEST_CASE("the first host of a Slurm list is found in all its spellings") {
  CHECK(first_slurm_host("gpu1") == "gpu1");
  CHECK(first_slurm_host("gpu1,gpu2") == "gpu1");
  CHECK(first_slurm_host("gpu[07-09,12],cpu3") == "gpu07");
  CHECK(first_slurm_host("gpu[3,5]") == "gpu3");
  CHECK(first_slurm_host("a,gpu[3,5]") == "a");
}

}  // namespace stepsight::calibrate
