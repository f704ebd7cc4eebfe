#include "cli/shard.h"

#include <cstdlib>

#include "model/errors.h"
#include "tests/catch2.h"

namespace stepsight {
namespace {

TEST_CASE("the stretches of all shards in order are the whole sweep") {
  for (const std::uint64_t count : {1, 7, 8, 1000003}) {
    for (const std::uint64_t of : {1, 2, 3, 8}) {
      std::uint64_t due = 0;
      for (std::uint64_t number = 1; number <= of; ++number) {
        const Stretch s = stretch_of({number, of}, count);
        CHECK(s.begin == due);
        due = s.end;
      }
      CHECK(due == count);
    }
  }
}

TEST_CASE("a shard is I/N with I from 1 to N") {
  CHECK(parse_shard("2/8").number == 2);
  CHECK(parse_shard("2/8").of == 8);
  for (const char* text :
       {"0/8", "9/8", "1", "/", "1/", "a/b", "1/2/3", "-1/2", "1/99999999999999999999"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_shard(text), UserError);
  }
}

TEST_CASE("a Slurm array or an MPI launcher says which shard this is") {
  const char* const names[] = {"SLURM_ARRAY_TASK_ID",
                               "SLURM_ARRAY_TASK_COUNT",
                               "SLURM_ARRAY_TASK_MIN",
                               "OMPI_COMM_WORLD_RANK",
                               "OMPI_COMM_WORLD_SIZE",
                               "PMIX_RANK",
                               "PMIX_SIZE",
                               "PMI_RANK",
                               "PMI_SIZE",
                               "SLURM_PROCID",
                               "SLURM_NTASKS"};
  for (const char* name : names) ::unsetenv(name);
  CHECK_THROWS_AS(parse_shard("auto"), UserError);
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  CHECK(parse_shard("auto").number == 1);
  CHECK(parse_shard("auto").of == 4);
  ::setenv("SLURM_ARRAY_TASK_ID", "12", 1);
  ::setenv("SLURM_ARRAY_TASK_COUNT", "3", 1);
  ::setenv("SLURM_ARRAY_TASK_MIN", "10", 1);
  CHECK(parse_shard("auto").number == 3);
  CHECK(parse_shard("auto").of == 3);
  for (const char* name : names) ::unsetenv(name);
}

}  // namespace
}  // namespace stepsight
