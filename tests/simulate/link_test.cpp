#include "simulate/link.h"

#include "simulate/price_cache.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

TEST_CASE("one GPU has no link unless it is the loop-back") {
  const GpuProfile gpu = toy_gpu();
  CHECK(resolve_link(gpu, "", 1).kind == Link::Kind::none);
  CHECK(resolve_link(gpu, "wire", 1).kind == Link::Kind::none);
  const Link loopback = resolve_link(gpu, "loopback:3", 1);
  CHECK(loopback.kind == Link::Kind::loopback);
  CHECK(loopback.copies == 3);
  CHECK(message_time(resolve_link(gpu, "", 1), gpu, 64_MiB).time.value == 0);
}

TEST_CASE("a link is the all-reduce over that many GPUs") {
  const GpuProfile gpu = toy_gpu();
  const Link four = resolve_link(gpu, "wire", 4);
  REQUIRE(four.kind == Link::Kind::collective);
  CHECK(four.curve->ranks == 4);
  // 20 us, and 1.5 bytes a byte at 100 GB/s.
  CHECK(message_time(four, gpu, Bytes{1e9}).time.value == Approx(20e-6 + 15e-3));
  CHECK_FALSE(message_time(four, gpu, Bytes{1e9}).measured);
}

TEST_CASE("the loop-back copies each bucket out and back, k times") {
  GpuProfile gpu = toy_gpu();
  gpu.device_to_host = {10, 50};
  gpu.host_to_device = {20, 25};
  // 1 GB: 10 us + 20 ms out, 20 us + 40 ms back.
  for (const int k : {0, 1, 2, 8}) {
    const Link link = resolve_link(gpu, "loopback:" + std::to_string(k), 1);
    CHECK(message_time(link, gpu, Bytes{1e9}).time.value == Approx(k * 60.03e-3));
  }
}

TEST_CASE("an unknown link or group names what is known") {
  const GpuProfile gpu = toy_gpu();
  const auto message = [&](const char* name, std::int64_t gpus) {
    return message_of([&] { resolve_link(gpu, name, gpus); });
  };
  CHECK_THAT(message("wire", 3), match::ContainsSubstring("2, 4, 8"));
  CHECK_THAT(message("wier", 2), match::ContainsSubstring("known: wire, loopback:K"));
  CHECK_THAT(message("loopback:", 2), match::ContainsSubstring("loopback:K"));
  CHECK_THAT(message("loopback:2x", 2), match::ContainsSubstring("loopback:K"));
  CHECK_THAT(message("loopback:-1", 2), match::ContainsSubstring("loopback:K"));
  CHECK(link_names(gpu) == std::vector<std::string>{"wire"});
}

TEST_CASE("link_speed multiplies the bandwidth of everything on the link and leaves latencies") {
  const GpuProfile gpu = toy_gpu();
  Cluster cluster;
  cluster.gpus = 4;
  cluster.link = "wire";
  for (const double speed : {0.5, 2.0, 10.0}) {
    cluster.link_speed = speed;
    // 20 us, and 1.5 bytes a byte at 100 GB/s, as above.
    CHECK(message_time(resolve_link(gpu, cluster), gpu, Bytes{1e9}).time.value ==
          Approx(20e-6 + 15e-3 / speed));
    Cluster by_class = cluster;
    by_class.link = "pcie4-x16-nop2p";
    const double fast = resolve_link(gpu, by_class).curve->parameters.busbw_GBps;
    by_class.link_speed = 1;
    const CollectiveParameters<double> plain = resolve_link(gpu, by_class).curve->parameters;
    CHECK(fast == Approx(speed * plain.busbw_GBps));
    CHECK(resolve_link(gpu, by_class).curve->parameters.latency_us == plain.latency_us);
  }
  // What was resolved for one speed is not taken for another.
  const CollectiveGroup all{CollectiveKind::all_reduce, 4, 1};
  PriceCache cache(gpu);
  cluster.link_speed = 1;
  const double slow = cache.message(cache.collective(cluster, all), Bytes{1e9}).time.value;
  cluster.link_speed = 2;
  CHECK(cache.message(cache.collective(cluster, all), Bytes{1e9}).time.value < 0.6 * slow);
}
