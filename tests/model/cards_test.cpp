// The cards that are built in: their vendors' figures against what each generation of chips can be.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "model/io/builtin.h"
#include "model/io/profile_file.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](auto b) { return name.starts_with(b); });
}

// Pascal, Volta and Turing: no bf16, no tf32.
bool before_ampere(std::string_view name) {
  return begins_with_any(name, {"gtx-", "p100", "v100", "t4", "titan-rtx", "rtx-20", "quadro-"});
}
// Ada, Hopper and Blackwell compute in fp8.
bool has_fp8(std::string_view name) {
  return begins_with_any(name,
                         {"l4",
                          "rtx-40",
                          "rtx-6000-ada",
                          "rtx-5880-ada",
                          "h100",
                          "h200",
                          "h800",
                          "gh200",
                          "b200",
                          "b300",
                          "gb200",
                          "rtx-50",
                          "rtx-pro"});
}

double rate(const GpuProfile& gpu, Dtype type) {
  return gpu.vendor_TFLOPS[static_cast<std::size_t>(type)];
}

}  // namespace

TEST_CASE("every card's formats are those of its generation") {
  const auto cards = builtin_names("gpus");
  CHECK(cards.size() >= 50);
  for (const std::string_view name : cards) {
    INFO(name);
    const GpuProfile gpu = read_gpu(std::string(name));
    CHECK((rate(gpu, Dtype::bf16) > 0) == !before_ampere(name));
    CHECK((rate(gpu, Dtype::tf32) > 0) == !before_ampere(name));
    CHECK((rate(gpu, Dtype::fp8) > 0) == has_fp8(name));
    if (rate(gpu, Dtype::bf16) > 0) {
      // The 16-bit formats share their rate; tf32 has half of it.
      CHECK(rate(gpu, Dtype::fp16) == rate(gpu, Dtype::bf16));
      CHECK(rate(gpu, Dtype::tf32) == Approx(rate(gpu, Dtype::bf16) / 2).epsilon(0.02));
    }
    if (has_fp8(name)) {
      CHECK(rate(gpu, Dtype::fp8) == Approx(2 * rate(gpu, Dtype::bf16)).epsilon(0.02));
    }
  }
}

TEST_CASE("every card's figures lie where such a card's can") {
  for (const std::string_view name : builtin_names("gpus")) {
    INFO(name);
    const GpuProfile gpu = read_gpu(std::string(name));
    CHECK(gpu.multiprocessors >= 28);
    CHECK(gpu.multiprocessors <= 192);
    CHECK(gpu.memory_bytes >= 8e9);
    CHECK(gpu.memory_bytes <= 300e9);
    CHECK(gpu.l2_bytes >= 2e6);
    CHECK(gpu.l2_bytes <= 140e6);
    CHECK(gpu.power_W >= 70);
    CHECK(gpu.power_W <= 1200);
    CHECK(gpu.pcie_GBps >= 15);
    CHECK_FALSE(gpu.driver_name.empty());
    // FLOP a byte of memory traffic at which fp32 arithmetic becomes the bound.
    const double intensity = rate(gpu, Dtype::fp32) / gpu.hbm_TBps;
    CHECK(intensity >= 9);
    CHECK(intensity <= 110);
    // The clock that the fp32 rate implies, with 64 or 128 lanes a multiprocessor.
    const double with_128 = rate(gpu, Dtype::fp32) * 1e12 / (256.0 * gpu.multiprocessors);
    const double clock = with_128 < 1e9 ? 2 * with_128 : with_128;
    CHECK(clock >= 1.05e9);
    CHECK(clock <= 2.7e9);
  }
}

TEST_CASE("a card that names another for its utilisation names a measured one") {
  for (const std::string_view name : builtin_names("gpus")) {
    const GpuProfile gpu = read_gpu(std::string(name));
    if (gpu.like.empty()) continue;
    INFO(name << " like " << gpu.like);
    const std::string file = "profiles/" + gpu.like + ".toml";
    CHECK(builtin_file(file).has_value());
    CHECK(read_gpu(gpu.like).like.empty());
    const GpuProfile profile = read_profile(std::string(name));
    if (builtin_file("profiles/" + std::string(name) + ".toml")) continue;
    CHECK_THAT(profile.records.front().source, match::ContainsSubstring(gpu.like));
  }
}
