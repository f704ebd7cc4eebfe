// Our own steps on an H200, predicted from their profiler traces, against the same steps without a
// profiler (tests/validation/README.md).
#include <array>
#include <cmath>
#include <string>

#include "model/io/model_file.h"
#include "model/io/profile_file.h"
#include "model/io/trace_file.h"
#include "simulate/traced_prediction.h"
#include "tests/catch2.h"

using namespace stepsight;

namespace {

struct Row {
  const char* id;
  const char* trace;
  const char* link;  // empty: a single GPU without a wrapper
  double measured_ms;
};

// Bound by the GPU or the link: the runs' own spread is below 15 %.
constexpr std::array<Row, 6> steady{{
    {"H3002", "bert_large_b16", "", 64.347},
    {"H3061", "bert_large_b16", "loopback:2", 129.607},
    {"H3062", "bert_large_b16", "loopback:4", 227.483},
    {"H2004", "gpt2_124m_b8", "", 21.937},
    {"H2071", "gpt2_124m_b8", "", 22.017},
    {"H2021", "llama_1b_b2", "", 74.064},
}};

// Bound by a host that was shared: these runs differ among themselves by 18 to 51 %.
constexpr std::array<Row, 5> host_bound{{
    {"H3000", "resnet50_b64", "", 26.559},
    {"H3010", "resnet50_b64", "", 27.934},
    {"H3012", "resnet50_b64", "loopback:1", 29.063},
    {"H3013", "resnet50_b64", "loopback:2", 32.466},
    {"H3014", "resnet50_b64", "loopback:4", 37.258},
}};

double error_of(const Row& row) {
  static const GpuProfile gpu = read_profile("h200-sxm");
  const TracedStep step = read_traced_step(STEPSIGHT_SOURCE_DIR "/tests/validation/traces/" +
                                           std::string(row.trace) + ".json.gz");
  REQUIRE(step.sizes_recorded);
  Scenario scenario;
  scenario.cluster.link = row.link;
  const double step_ms = predict_traced(step, scenario, gpu).point.prediction.step.value * 1e3;
  const double error = step_ms / row.measured_ms - 1;
  UNSCOPED_INFO(row.id << ": " << step_ms << " ms for " << row.measured_ms << ", " << 100 * error
                       << " %");
  return error;
}

}  // namespace

TEST_CASE("steps bound by GPU or link are predicted from their traces within 5 % on average") {
  double sum = 0;
  for (const Row& row : steady) {
    const double error = std::abs(error_of(row));
    CHECK(error <= 0.06);
    sum += error;
  }
  CHECK(sum / steady.size() <= 0.05);
}

// Hosts of one kind differ by a third from day to day, and the profile's is the mean of four.
TEST_CASE("steps bound by the host are predicted from their traces within 20 %") {
  double sum = 0;
  for (const Row& row : host_bound) {
    const double error = std::abs(error_of(row));
    CHECK(error <= 0.2);
    sum += error;
  }
  CHECK(sum / host_bound.size() <= 0.12);
}

TEST_CASE("traces give the parameters of the models that they are of") {
  // Hugging Face's BertForMaskedLM without pooler: 335,174,458. torchvision's ResNet-50:
  // 25,557,032.
  const std::string folder = STEPSIGHT_SOURCE_DIR "/tests/validation/traces/";
  CHECK(parameter_count(read_traced_step(folder + "bert_large_b16.json.gz")) == 335174458);
  CHECK(parameter_count(read_traced_step(folder + "resnet50_b64.json.gz")) == 25557032);
}

TEST_CASE("a trace without shapes infers its parameters from the update within 20 %") {
  const GpuProfile gpu = read_profile("h200-sxm");
  const std::string folder = STEPSIGHT_SOURCE_DIR "/tests/validation/traces/";
  const TracedStep bert = read_traced_step(folder + "bert_large_b16.json.gz");
  CHECK(static_cast<double>(infer_parameters(bert, gpu).value()) == Approx(335174458).epsilon(0.2));
}

// Two ways to the same figure: the step of a model built up operator by operator, and the kernels
// of its trace carried over from the H200. No card but the H200 ran it, so neither is the truth.
TEST_CASE("carried over to other cards, a trace goes as the model that it is of") {
  const GpuProfile h200 = read_profile("h200-sxm");
  const std::string folder = STEPSIGHT_SOURCE_DIR "/tests/validation/traces/";
  const TracedStep step = read_traced_step(folder + "gpt2_124m_b8.json.gz");
  Scenario scenario;
  scenario.model = read_model("gpt2-124m");
  scenario.model.vocab = 50304;
  scenario.training.batch = 8;
  scenario.training.seq = 1024;
  const double traced = predict_traced(step, scenario, h200).point.prediction.step.value;
  const double modelled = predict_step(scenario, h200).value;
  for (const char* name : {"h100-sxm", "a100-sxm-80", "l40s"}) {
    const GpuProfile gpu = read_profile(name);
    const TracedPoint there = predict_traced(step, scenario, gpu, &h200);
    INFO(name);
    CHECK(there.costs.by_operator > 0.9);
    CHECK(there.point.prediction.step.value / traced ==
          Approx(predict_step(scenario, gpu).value / modelled).epsilon(0.1));
  }
}
