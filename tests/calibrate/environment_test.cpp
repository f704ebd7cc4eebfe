#include "calibrate/measure/environment.h"

#include <cstdlib>
#include <string>

#include "tests/catch2.h"

namespace stepsight::calibrate {

TEST_CASE("only variables that change what is measured are written down") {
  for (const char* name : {"NCCL_ALGO", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "TORCH_LOGS"}) {
    ::setenv(name, "x", 1);
  }
  ::setenv("NVIDIA_REQUIRE_CUDA", "2 kB of driver brands", 1);
  ::setenv("SECRET_TOKEN", "must not leave this machine", 1);
  const Record record = environment_record();
  for (const char* name : {"NCCL_ALGO", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "TORCH_LOGS"}) {
    const FieldValue* value = find(record, name);
    REQUIRE(value != nullptr);
    CHECK(*value == FieldValue(std::string("x")));
    ::unsetenv(name);
  }
  CHECK(find(record, "NVIDIA_REQUIRE_CUDA") == nullptr);
  CHECK(find(record, "SECRET_TOKEN") == nullptr);
  ::unsetenv("NVIDIA_REQUIRE_CUDA");
  ::unsetenv("SECRET_TOKEN");
}

TEST_CASE("variables are sorted by name, so that two files can be compared") {
  ::setenv("TORCH_B", "2", 1);
  ::setenv("NCCL_A", "1", 1);
  const Record record = environment_record();
  for (std::size_t i = 1; i < record.size(); ++i) CHECK(record[i - 1].key < record[i].key);
  CHECK(record.size() >= 2);
  ::unsetenv("TORCH_B");
  ::unsetenv("NCCL_A");
}

}  // namespace stepsight::calibrate
