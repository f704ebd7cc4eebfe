// Convolutions against counts by hand, and what a fit of theirs must give back.
#include "model/convolution.h"

#include <array>
#include <cmath>

#include "model/cost.h"
#include "model/errors.h"
#include "model/fit/fit_profile.h"
#include "model/io/measurement_files.h"
#include "model/io/profile_file.h"
#include "model/io/shape_csv.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"
#include "tests/model/toy_gpu.h"

using namespace stepsight;

namespace {

Convolution three_by_three(std::int64_t batch) {
  return {batch, 64, 56, 56, 128, 3, 3, 1, 1};
}

}  // namespace

TEST_CASE("a convolution's result has the size that frameworks give it") {
  const Convolution stem{1, 3, 224, 224, 64, 7, 7, 2, 3};
  CHECK(out_height(stem) == 112);
  CHECK(out_width(stem) == 112);
  const Convolution strided{1, 128, 57, 31, 128, 3, 3, 2, 1};
  CHECK(out_height(strided) == 29);  // (57 + 2 - 3) / 2 + 1
  CHECK(out_width(strided) == 16);
}

TEST_CASE("all three directions of a convolution have its FLOP as a product") {
  for (const std::int64_t stride : {1, 2}) {
    for (const std::int64_t groups : {1, 4}) {
      Convolution c = three_by_three(32);
      c.stride = stride;
      c.groups = groups;
      const double rows = 32.0 * (stride == 1 ? 56 * 56 : 28 * 28);
      const double flop = 2 * rows * 128 * 64 * 9 / static_cast<double>(groups);
      for (const auto direction : {ConvolutionDirection::forward,
                                   ConvolutionDirection::dgrad,
                                   ConvolutionDirection::wgrad}) {
        c.direction = direction;
        CHECK(flops(c).value == flop);
        CHECK(flops(implicit_gemm(c, 132)).value == Approx(flop).epsilon(2e-3));
      }
    }
  }
}

TEST_CASE("an image's three channels are padded to eight") {
  const Convolution stem{1, 3, 224, 224, 64, 7, 7, 2, 3};
  CHECK(is_narrow(stem));
  CHECK_FALSE(is_narrow(three_by_three(1)));
  CHECK(implicit_gemm(stem, 132).k == 8 * 49);
  // Its bytes are those of the three: image 3 x 224^2, filters 64 x 3 x 49, result 64 x 112^2,
  // bf16.
  CHECK(bytes(stem).value == 2.0 * (3 * 224 * 224 + 64 * 3 * 49 + 64 * 112 * 112));
}

TEST_CASE("a convolution takes at least its bytes' time and grows with its batch") {
  const GpuProfile gpu = toy_gpu();
  for (const auto direction :
       {ConvolutionDirection::forward, ConvolutionDirection::dgrad, ConvolutionDirection::wgrad}) {
    double before = 0;
    for (const std::int64_t batch : {1, 8, 64, 512}) {
      Convolution c = three_by_three(batch);
      c.direction = direction;
      const double time = cost(c, gpu).time.value;
      const double bandwidth = gpu.convolution[0].bandwidth_TBps * 1e12;
      CHECK(time >= bytes(c).value / bandwidth);
      CHECK(time > before);
      before = time;
    }
  }
}

TEST_CASE("a fit gives back the parameters that convolution points were made with") {
  GpuProfile gpu = toy_gpu();
  ConvolutionParameters<double> truth{1.4, 1.3, 4, 6, 2.5};
  Measurements m;
  m.sources = {"made"};
  for (const std::int64_t batch : {16, 64, 256}) {
    for (const std::int64_t channels : {3, 64, 128, 256, 512}) {
      for (const std::int64_t size : {14, 28, 56}) {
        for (const std::int64_t kernel : {1, 3}) {
          const Convolution c{batch, channels, size, size, 256, kernel, kernel, 1, kernel / 2};
          const Seconds product =
              convolution_product(c, class_values<GemmParameters>(), multiprocessors_of(gpu));
          m.convolutions.push_back({c, convolution_formula(c, product, truth).value * 1e6, 0});
        }
      }
    }
  }
  // Without products of its own the card has bf16's class values, scaled to nothing but themselves.
  gpu.vendor_TFLOPS.fill(0);
  const FittedProfile fitted = fit_profile(gpu, m, {});
  const ConvolutionParameters<double>& found = fitted.profile.convolution[0];
  CHECK(found.slowdown == Approx(truth.slowdown).epsilon(0.01));
  CHECK(found.window_slowdown == Approx(truth.window_slowdown).epsilon(0.01));
  CHECK(found.narrow_slowdown == Approx(truth.narrow_slowdown).epsilon(0.01));
  CHECK(found.overhead_us == Approx(truth.overhead_us).epsilon(0.05));
  CHECK(found.bandwidth_TBps == Approx(truth.bandwidth_TBps).epsilon(0.01));
  CHECK(cost(m.convolutions.front().convolution, fitted.profile).time.value * 1e6 ==
        Approx(m.convolutions.front().time_us).epsilon(1e-6));
}

TEST_CASE("the shipped H200 profile returns its measured convolutions, through the file") {
  const GpuProfile gpu = read_profile("h200-sxm");
  struct Row {
    Convolution shape;
    double time_us;
  };
  // From h200-images.json, which alone has these.
  Convolution dgrad{128, 128, 56, 56, 128, 3, 3, 2, 1};
  dgrad.direction = ConvolutionDirection::dgrad;
  Convolution wgrad{128, 64, 56, 56, 64, 3, 3, 1, 1};
  wgrad.direction = ConvolutionDirection::wgrad;
  const std::array<Row, 3> rows{
      {{{128, 64, 56, 56, 64, 3, 3, 1, 1}, 70.048}, {dgrad, 77.024}, {wgrad, 74.336}}};
  for (const Row& row : rows) {
    const Cost c = cost(row.shape, gpu);
    CHECK(c.measured);
    CHECK(c.time.value * 1e6 == Approx(row.time_us).epsilon(1e-4));
  }
}

TEST_CASE("a table of shapes takes convolutions and says what is wrong with one") {
  const ShapeTable table = read_shapes(
      "t.csv", "op,batch,channels,size,out,kernel,stride\nconv_wgrad,8,64,56,128,3,2\n");
  const auto& c = std::get<Convolution>(table.shapes.front());
  CHECK(c.batch == 8);
  CHECK(c.padding == 1);
  CHECK(c.stride == 2);
  CHECK(c.direction == ConvolutionDirection::wgrad);
  CHECK_THAT(
      message_of([] { read_shapes("t.csv", "op,channels,size,out,kernel\nconv,3,4,8,5\n"); }),
      match::ContainsSubstring("t.csv:2:12: ") && match::ContainsSubstring("must not exceed size"));
  CHECK_THAT(message_of([] { read_shapes("t.csv", "op,channels,size\nconv,3,8\n"); }),
             match::ContainsSubstring("needs a column 'out'"));
  CHECK_THAT(
      message_of([] { read_shapes("t.csv", "op,channels,size,out,groups\nconv,6,8,8,4\n"); }),
      match::ContainsSubstring("must divide channels and out"));
}
