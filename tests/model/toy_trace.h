// Profiler traces made up event by event, for tests that know what must come out.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/io/trace_file.h"
#include "model/io/trace_stream.h"

namespace stepsight {

class ToyTrace {
 public:
  std::string gpu = "Toy card";
  std::string beside;  // further members of the document, each ending in a comma

  void add(const std::string& category,
           const std::string& name,
           int thread,
           double start,
           double duration,
           const std::string& args = "") {
    events_.push_back("{\"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" + name +
                      "\", \"pid\": 1, \"tid\": " + std::to_string(thread) +
                      ", \"ts\": " + std::to_string(start) +
                      ", \"dur\": " + std::to_string(duration) + ", \"args\": {" + args + "}}");
  }
  // An operator's launch and its kernel; `id` is both external id and correlation.
  void kernel(const std::string& name,
              int id,
              int thread,
              double launch,
              double launch_duration,
              double start,
              double duration) {
    const std::string ids =
        "\"External id\": " + std::to_string(id) + ", \"correlation\": " + std::to_string(id);
    add("cuda_runtime", "cudaLaunchKernel", thread, launch, launch_duration, ids);
    add("kernel", name, 7, start, duration, ids + ", \"device\": 0, \"stream\": 7");
  }
  void raw(std::string event) { events_.push_back(std::move(event)); }

  [[nodiscard]] std::string events() const {
    std::string out = "[\n";
    for (const std::string& e : events_) out += (out.size() > 2 ? ",\n" : "") + e;
    return out + "\n]";
  }
  [[nodiscard]] std::string text() const {
    return "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"" + gpu +
           "\", \"numSms\": 100}], " + beside + "\"traceEvents\": " + events() +
           ", \"traceName\": \"toy\"}\n";
  }

 private:
  std::vector<std::string> events_;
};

// One step of a layer with a weight of 64 x 32 and a bias of 32, from `at` to `at` + 150 us: two
// kernels of forward (a product and a cast: 20 and 8 us), two of backward (30 and 5), one of the
// optimizer (40). Ids are `id` + 1 to `id` + 5.
inline void add_toy_step(ToyTrace& t, double at, int id = 0, bool shapes = true) {
  const auto ids = [&](int i) { return "\"External id\": " + std::to_string(id + i); };
  const auto with = [&](int i, const std::string& args) {
    return shapes ? ids(i) + ", " + args : ids(i);
  };
  t.add("cpu_op",
        "aten::mm",
        1,
        at,
        10,
        with(1,
             "\"Input Dims\": [[64, 128], [128, 32]], \"Input Strides\": [[128, 1], [1, 128]], "
             "\"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"], \"Concrete Inputs\": "
             "[\"\", \"\"]"));
  t.kernel("nvjet_sm90_tst_64x32_TNT", id + 1, 1, at + 2, 4, at + 10, 20);
  t.add("cpu_op",
        "aten::copy_",
        1,
        at + 20,
        6,
        with(2, "\"Input type\": [\"float\", \"c10::BFloat16\", \"Scalar\"]"));
  t.kernel("void at::native::vectorized_elementwise_kernel<4>", id + 2, 1, at + 22, 2, at + 32, 8);
  t.add("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 2, at + 40, 20, ids(30));
  t.kernel("nvjet_sm90_tst_64x32_NTN", id + 3, 2, at + 45, 5, at + 55, 30);
  t.add("cpu_op",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
        2,
        at + 61,
        4,
        ids(31));
  t.add("cpu_op",
        "torch::autograd::AccumulateGrad",
        2,
        at + 62,
        2,
        with(32, "\"Input Dims\": [[64, 32]], \"Input type\": [\"float\"]"));
  t.add("cpu_op", "autograd::engine::evaluate_function: SumBackward0", 2, at + 66, 10, ids(33));
  t.kernel("void at::native::reduce_kernel<512>", id + 4, 2, at + 70, 2, at + 90, 5);
  t.add("cpu_op",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
        2,
        at + 77,
        3,
        ids(34));
  t.add("cpu_op",
        "torch::autograd::AccumulateGrad",
        2,
        at + 78,
        1,
        with(35, "\"Input Dims\": [[32]], \"Input type\": [\"float\"]"));
  t.add("user_annotation", "Optimizer.step#SGD.step", 1, at + 100, 30, ids(36));
  t.kernel("void at::native::multi_tensor_apply_kernel<1>", id + 5, 1, at + 110, 6, at + 120, 40);
  t.add("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 1, at + 135, 15, ids(37));
}

// A text handed out in pieces of at most `piece` bytes.
inline std::unique_ptr<TraceStream> stream_of(const std::string& text,
                                              std::size_t piece = 1 << 16) {
  auto at = std::make_shared<std::size_t>(0);
  return std::make_unique<TraceStream>("toy.json", [&text, at, piece](char* to, std::size_t size) {
    const std::size_t n = std::min({size, piece, text.size() - *at});
    std::memcpy(to, text.data() + *at, n);
    *at += n;
    return n;
  });
}

inline TracedStep step_of(const std::string& text, std::size_t piece = 1 << 16) {
  const TraceSurvey survey = survey_trace(*stream_of(text, piece));
  const TraceWindow window = steady_window(survey);
  return traced_step("toy.json", survey, window, collect_trace(*stream_of(text, piece), window));
}

}  // namespace stepsight
