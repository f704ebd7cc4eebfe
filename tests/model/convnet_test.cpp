// The ResNet family against published counts and what a framework launches for it.
#include "model/convnet.h"

#include <algorithm>
#include <string>

#include "model/io/model_file.h"
#include "model/transformer.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

Training images(std::int64_t batch) {
  Training t;
  t.batch = batch;
  t.seq = 1;
  return t;
}

template <typename Keep>
std::int64_t count(const StepWork& work, std::vector<Operator> StageWork::*side, Keep keep) {
  const auto in = [&](const StageWork& stage) {
    return static_cast<std::int64_t>(std::ranges::count_if(stage.*side, keep));
  };
  return in(work.embedding) + work.blocks * in(work.block) + in(work.head);
}

bool is_convolution(const Operator& op) {
  return std::holds_alternative<Convolution>(op.work);
}

}  // namespace

TEST_CASE("a ResNet's forward takes the published multiply-adds") {
  // torchvision's figures for 224 x 224 images, in 1e9 multiply-adds, which count the classifier.
  const std::pair<const char*, double> published[] = {{"resnet18", 1.81},
                                                      {"resnet34", 3.66},
                                                      {"resnet50", 4.09},
                                                      {"resnet101", 7.80},
                                                      {"resnet152", 11.51}};
  for (const auto& [name, giga] : published) {
    INFO(name);
    const double flop = step_work(read_model(name), images(1)).model_flops.value;
    CHECK(flop / 3 / 2 / 1e9 == Approx(giga).epsilon(0.005));
  }
}

TEST_CASE("ResNet-50 has 53 convolutions, each with a batch norm, and no gradient of the images") {
  const StepWork work = step_work(read_model("resnet50"), images(4));
  CHECK(count(work, &StageWork::forward, is_convolution) == 53);
  CHECK(count(work, &StageWork::backward, is_convolution) == 2 * 53 - 1);
  const auto norm = [](const Operator& op) {
    const auto* pass = std::get_if<Pass>(&op.work);
    return pass != nullptr && pass->kind == PassKind::batch_norm;
  };
  CHECK(count(work, &StageWork::forward, norm) == 53);
  CHECK(work.tensors == 161);  // 53 filters, 106 of batch norms, 2 of the classifier
}

TEST_CASE("the gradient of a ResNet's classifier comes first and that of its stem last") {
  const StepWork work = step_work(read_model("resnet50"), images(4));
  CHECK(work.head.ready.front().elements == 2048 * 1000);
  CHECK(work.embedding.ready.back().elements == 64 * 3 * 7 * 7);
}

TEST_CASE("a ResNet's work is linear in its images and does not ask for a sequence length") {
  const ModelShape shape = read_model("resnet50");
  Training t = images(8);
  const double eight = step_work(shape, t).model_flops.value;
  t.seq = 999;
  CHECK(step_work(shape, t).model_flops.value == eight);
  CHECK(step_work(shape, images(16)).model_flops.value == Approx(2 * eight));
}

TEST_CASE("a ResNet that is trained again from its blocks' inputs keeps those only") {
  const ModelShape shape = read_model("resnet50");
  Training t = images(2);
  t.recompute = Recompute::full;
  // 2048 channels of 7 x 7 in bf16, two images.
  CHECK(step_work(shape, t).block.saved_bytes == 2.0 * 2048 * 49 * 2);
}

TEST_CASE("what is no ResNet is said by its key") {
  ModelShape shape = read_model("resnet50");
  shape.layers = 51;
  REQUIRE(problems(shape).size() == 1);
  CHECK(problems(shape).front() == "layers of a resnet must be 18, 34, 50, 101 or 152, got 51");
  shape = read_model("resnet18");
  shape.image = 16;
  shape.vocab = 0;
  CHECK(problems(shape).size() == 2);
}
