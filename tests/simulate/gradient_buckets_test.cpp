// DDP's rules on examples small enough to fill the buckets by hand; sizes in MiB.
#include "simulate/gradient_buckets.h"

#include "model/io/model_file.h"
#include "model/transformer.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

constexpr double mebibyte = 1024 * 1024;

struct Filled {
  std::uint32_t first = 0;
  std::uint32_t tensors = 0;
  double mib = 0;
  friend bool operator==(const Filled&, const Filled&) = default;
};

std::vector<Filled> fill(std::vector<double> mib, BucketLimits limits = {}) {
  for (double& size : mib) size *= mebibyte;
  std::vector<Filled> out;
  for (const Bucket& b : gradient_buckets(mib, limits)) {
    out.push_back({b.first_tensor, b.tensors, b.bytes / mebibyte});
  }
  return out;
}

}  // namespace

TEST_CASE("the first bucket closes at 1 MiB, the others at 25") {
  // 0.5 + 0.5 reach 1. Then 10 + 10 + 10 = 30 reach 25 with the third; 20 stays open to the end.
  CHECK(fill({0.5, 0.5, 10, 10, 10, 20}) == std::vector<Filled>{{0, 2, 1}, {2, 3, 30}, {5, 1, 20}});
}

TEST_CASE("a tensor larger than the cap fills a bucket, with what was in it") {
  CHECK(fill({100, 3, 200, 4}) == std::vector<Filled>{{0, 1, 100}, {1, 2, 203}, {3, 1, 4}});
}

TEST_CASE("a bucket that is exactly full is closed") {
  CHECK(fill({1, 25, 25}) == std::vector<Filled>{{0, 1, 1}, {1, 1, 25}, {2, 1, 25}});
  CHECK(fill({0.99, 0.01, 24.99, 0.005, 7}) ==
        std::vector<Filled>{{0, 2, 1}, {2, 3, 24.99 + 0.005 + 7}});
}

TEST_CASE("limits are what the user sets") {
  CHECK(fill({1, 1, 1, 1, 1}, {2 * mebibyte, 3 * mebibyte}) ==
        std::vector<Filled>{{0, 2, 2}, {2, 3, 3}});
}

TEST_CASE("without gradients there are no buckets") {
  CHECK(fill({}).empty());
}

TEST_CASE(
    "GPT-2's embedding, with its tied head, is the last bucket; the head's norm opens the first") {
  const ModelShape shape = read_model("gpt2-124m");
  Training t;
  t.seq = 1024;
  const StepWork work = step_work(shape, t);
  std::vector<double> bytes;
  const auto append = [&](const StageWork& stage) {
    for (const GradientReady& r : stage.ready)
      bytes.push_back(4.0 * static_cast<double>(r.elements));
  };
  append(work.head);
  for (std::int64_t i = 0; i < work.blocks; ++i) append(work.block);
  append(work.embedding);
  const std::vector<Bucket> buckets = gradient_buckets(bytes, {});
  // fp32. A block's backward completes mlp down (9 MiB) first: with the final norm's 6 KiB it
  // closes the first bucket. 28.3 MB a block, 12 blocks, a bucket every 25 MiB or a little more.
  CHECK(buckets.front().bytes == Approx(9 * mebibyte + 768 * 4 * 2 + 768 * 4).margin(768 * 4));
  CHECK(buckets.back().first_tensor + buckets.back().tensors == bytes.size());
  CHECK(buckets.back().bytes >= 50257.0 * 768 * 4);
  double sum = 0;
  std::uint32_t next = 0;
  for (const Bucket& b : buckets) {
    CHECK(b.first_tensor == next);
    next += b.tensors;
    sum += b.bytes;
  }
  CHECK(sum == 4.0 * 124439808);
}
