#include "model/io/trace_file.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <unistd.h>

#include "model/io/read_file.h"
#include "model/io/trace_json.h"
#include "model/io/trace_shapes.h"
#include "tests/catch2.h"
#include "tests/model/message_of.h"
#include "tests/model/toy_trace.h"

using namespace stepsight;

namespace {

std::string toy_text() {
  ToyTrace trace;
  add_toy_step(trace, 1000);
  return trace.text();
}

// A file that is gone with its scope.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& text, const std::string& ending)
      : path_((std::filesystem::temp_directory_path() /
               ("stepsight-trace-" + std::to_string(getpid()) + ending))
                  .string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool same(const TracedStep& a, const TracedStep& b) {
  if (a.kernels.size() != b.kernels.size() || a.gradients.size() != b.gradients.size())
    return false;
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    const TracedKernel& x = a.kernels[i];
    const TracedKernel& y = b.kernels[i];
    if (x.seconds != y.seconds || x.issue_seconds != y.issue_seconds || x.part != y.part ||
        x.work != y.work) {
      return false;
    }
  }
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    if (a.gradients[i].after != b.gradients[i].after) return false;
    if (a.gradients[i].elements != b.gradients[i].elements) return false;
  }
  return true;
}

constexpr const char* resnet = STEPSIGHT_SOURCE_DIR "/tests/validation/traces/resnet50_b64.json.gz";

TraceEvent operator_event(const std::string& name, const std::string& args) {
  TraceEvent out;
  const std::string text =
      "[{\"ph\": \"X\", \"name\": \"" + name + "\", \"args\": {" + args + "}}]";
  read_trace_events(*stream_of(text), [&](TraceEvent& e) { out = e; });
  return out;
}

}  // namespace

TEST_CASE("a trace is read the same however its bytes arrive") {
  const std::string text = toy_text();
  const TracedStep whole = step_of(text);
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 64U, 1000U}) {
    INFO(piece);
    CHECK(same(step_of(text, piece), whole));
  }
}

TEST_CASE("a bare array of events is a trace, too") {
  ToyTrace trace;
  add_toy_step(trace, 1000);
  CHECK(same(step_of(trace.events()), step_of(trace.text())));
}

TEST_CASE("members beside the events do not matter, wherever they stand") {
  ToyTrace trace;
  add_toy_step(trace, 1000);
  const TracedStep plain = step_of(trace.text());
  trace.beside =
      "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 1, \"pg_config\": "
      "[{\"ranks\": [0, 5], \"pg_size\": 9}]}, \"other\": {\"ts\": 5, \"rank\": 3, \"world_size\": "
      "4}, \"numSms\": 7, \"world_size\": 6, ";
  CHECK(same(step_of(trace.text()), plain));
}

TEST_CASE("a trace cut at any byte is refused with the byte where it ends") {
  const std::string text = toy_text();
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut) {  // the last two: "}\n"
    const std::string part = text.substr(0, cut);
    const std::string message = message_of([&] { step_of(part); });
    INFO(cut << ": " << message);
    REQUIRE(message.find("toy.json: byte " + std::to_string(cut) + ":") != std::string::npos);
  }
}

TEST_CASE("a compressed trace cut anywhere is refused") {
  const std::string whole = bytes_of(resnet);
  REQUIRE(whole.size() > 100000);
  for (std::size_t cut = 0; cut < whole.size(); cut += 1 + whole.size() / 40) {
    const TemporaryFile file(whole.substr(0, cut), ".json.gz");
    INFO(cut);
    CHECK(message_of([&] { read_traced_step(file.path()); }).find(file.path()) == 0);
  }
  const TemporaryFile short_by_one(whole.substr(0, whole.size() - 1), ".json.gz");
  CHECK_THAT(message_of([&] { read_traced_step(short_by_one.path()); }),
             match::ContainsSubstring("ends early"));
}

TEST_CASE("a damaged compressed trace is refused") {
  std::string damaged = bytes_of(resnet);
  damaged[damaged.size() / 2] ^= 0x55;
  const TemporaryFile file(damaged, ".json.gz");
  CHECK_FALSE(message_of([&] { read_traced_step(file.path()); }).empty());
}

TEST_CASE("plain and compressed files give the same step") {
  const std::string text = read_file(resnet, 100 * megabyte, "a trace");
  const TemporaryFile file(text, ".json");
  CHECK(same(read_traced_step(file.path()), read_traced_step(resnet)));
  CHECK(names_a_trace(file.path()));
  CHECK(names_a_trace(resnet));
  CHECK_FALSE(names_a_trace("llama2-7b"));
  CHECK_FALSE(names_a_trace("/nowhere/config.json"));
}

TEST_CASE("a trace without kernels of a GPU says so") {
  ToyTrace cpu;
  cpu.add("cpu_op", "aten::mm", 1, 0, 10);
  CHECK_THAT(message_of([&] { step_of(cpu.text()); }),
             match::ContainsSubstring("1 operators of the host and no kernel of a GPU"));
  CHECK_THAT(message_of([&] { step_of(ToyTrace().text()); }),
             match::ContainsSubstring("no kernels and no operators"));
  CHECK_THAT(message_of([&] { step_of("{\"a\": [1, 2]}"); }),
             match::ContainsSubstring("no \"traceEvents\""));
  CHECK_THAT(message_of([&] { step_of(""); }),
             match::ContainsSubstring("byte 0: the file is empty"));
}

TEST_CASE("a trace of several ranks or GPUs is refused") {
  ToyTrace ranks;
  add_toy_step(ranks, 0);
  ranks.beside = "\"distributedInfo\": {\"rank\": 3, \"world_size\": 8}, ";
  CHECK_THAT(message_of([&] { step_of(ranks.text()); }),
             match::ContainsSubstring("rank 3 of 8 ranks"));

  ToyTrace collective;
  add_toy_step(collective, 0);
  collective.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 70, 2, 80, 1, 100, 10);
  CHECK_THAT(message_of([&] { step_of(collective.text()); }),
             match::ContainsSubstring("1 collective kernels"));

  ToyTrace gpus;
  add_toy_step(gpus, 0);
  gpus.add("kernel", "gemm", 7, 30, 1, "\"device\": 1, \"correlation\": 5");
  CHECK_THAT(message_of([&] { step_of(gpus.text()); }),
             match::ContainsSubstring("kernels of 2 GPUs"));
}

TEST_CASE("what no profiler writes is refused without taking memory or time for it") {
  CHECK_THAT(message_of([] { step_of("{\"traceEvents\": " + std::string(5'000'000, '[')); }),
             match::ContainsSubstring("nest deeper than 64"));
  const std::string endless = "{\"traceEvents\": [{\"name\": \"" + std::string(40'000'000, 'x');
  CHECK_THAT(message_of([&] { step_of(endless); }),
             match::ContainsSubstring("one value is longer than 16 MiB"));
  const auto event = [](const std::string& field) {
    return "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", " + field + "}]";
  };
  CHECK_THAT(message_of([&] { step_of(event("\"ts\": 1e300, \"dur\": 1")); }),
             match::ContainsSubstring("\"ts\" must be within"));
  CHECK_THAT(message_of([&] { step_of(event("\"ts\": 1, \"dur\": -4")); }),
             match::ContainsSubstring("\"dur\" must be from 0"));
  CHECK_THAT(message_of([&] { step_of(event("\"ts\": 1e999, \"dur\": 1")); }),
             match::ContainsSubstring("byte"));
  CHECK_THAT(message_of([&] { step_of(event("\"ts\": NaN")); }),
             match::ContainsSubstring("is not JSON"));
  CHECK_THAT(message_of([&] { step_of(event("\"ts\": 1") + "]"); }),
             match::ContainsSubstring("is not JSON"));
}

TEST_CASE("matrix products are recognised in every layout") {
  const auto layout = [](const std::string& a, const std::string& b) {
    const TraceEvent e =
        operator_event("aten::mm",
                       "\"Input Dims\": [[10, 20], [20, 30]], \"Input Strides\": [" + a + ", " + b +
                           "], \"Input type\": [\"c10::Half\", \"c10::Half\"]");
    return std::get<Gemm>(traced_work(e).value());
  };
  CHECK(layout("[20, 1]", "[1, 20]").layout == Layout::TN);
  CHECK(layout("[20, 1]", "[30, 1]").layout == Layout::NN);
  CHECK(layout("[1, 10]", "[30, 1]").layout == Layout::NT);
  const Gemm both = layout("[1, 10]", "[1, 20]");
  CHECK(both.layout == Layout::NN);
  CHECK(both.m == 30);
  CHECK(both.n == 10);
  CHECK(both.k == 20);
  CHECK(both.dtype == Dtype::fp16);
}

TEST_CASE("a convolution is the product of its unfolded input") {
  // 8 images of 3 x 224 x 224, kernel 7, stride 2, padding 3: (224 + 6 - 7) / 2 + 1 = 112.
  const TraceEvent forward = operator_event(
      "aten::cudnn_convolution",
      "\"Input Dims\": [[8, 3, 224, 224], [64, 3, 7, 7], [], [], []], \"Input type\": "
      "[\"c10::BFloat16\", \"c10::BFloat16\"], \"Concrete Inputs\": [\"\", \"\", \"[3, 3]\", "
      "\"[2, 2]\", \"[1, 1]\", \"1\"]");
  const Gemm g = std::get<Gemm>(traced_work(forward).value());
  CHECK(g.m == 8 * 112 * 112);
  CHECK(g.n == 64);
  CHECK(g.k == 3 * 7 * 7);
  const TraceEvent backward = operator_event(
      "aten::convolution_backward",
      "\"Input Dims\": [[8, 64, 112, 112], [8, 3, 224, 224], [64, 3, 7, 7]], \"Input type\": "
      "[\"c10::BFloat16\"], \"Concrete Inputs\": [\"\", \"\", \"\", \"[0]\", \"[2, 2]\", \"[3, "
      "3]\", "
      "\"[1, 1]\", \"False\", \"[0, 0]\", \"1\"]");
  const Gemm b = std::get<Gemm>(traced_work(backward).value());
  CHECK(b.m == g.m);
  CHECK(b.n == g.n);
  CHECK(b.k == g.k);
}

TEST_CASE("attention is recognised in both orders of its dimensions") {
  const TraceEvent cudnn = operator_event(
      "aten::_cudnn_attention_forward",
      "\"Input Dims\": [[2, 32, 512, 64], [2, 8, 512, 64], [2, 8, 512, 64]], \"Input type\": "
      "[\"c10::BFloat16\"], \"Concrete Inputs\": [\"\", \"\", \"\", \"\", \"\", \"\", \"512\", "
      "\"512\", \"True\", \"0.1\", \"True\", \"False\", \"\"]");
  const Attention a = std::get<Attention>(traced_work(cudnn).value());
  CHECK(a.batch == 2);
  CHECK(a.heads == 32);
  CHECK(a.kv_heads == 8);
  CHECK(a.seq == 512);
  CHECK(a.head_dim == 64);
  CHECK(a.causal);
  CHECK(a.dropout);
  CHECK_FALSE(a.backward);
  const TraceEvent flash = operator_event(
      "aten::_flash_attention_backward",
      "\"Input Dims\": [[2, 512, 32, 64], [2, 512, 32, 64], [2, 512, 8, 64]], \"Input type\": "
      "[\"c10::Half\", \"c10::Half\"], \"Concrete Inputs\": [\"\", \"\", \"\", \"\", \"\", \"\", "
      "\"\", \"\", \"512\", \"512\", \"0.\", \"False\"]");
  const Attention f = std::get<Attention>(traced_work(flash).value());
  CHECK(f.heads == 32);
  CHECK(f.seq == 512);
  CHECK_FALSE(f.causal);
  CHECK_FALSE(f.dropout);
  CHECK(f.backward);
}

TEST_CASE("shapes out of range are no shapes") {
  for (const char* dims : {"[[0, 1], [1, 1]]",
                           "[[-5, 1], [1, 1]]",
                           "[[9999999999999, 1], [1, 1]]",
                           "[[1], [1, 1]]",
                           "[]",
                           "[[1, 1]]",
                           "[[[1]], [1, 1]]"}) {
    INFO(dims);
    CHECK_FALSE(traced_work(operator_event("aten::mm",
                                           "\"Input Dims\": " + std::string(dims) +
                                               ", \"Input type\": [\"float\", \"float\"]"))
                    .has_value());
  }
}

namespace {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Endless steps of the toy trace, without ever holding more than one; every step is marked.
class Generator {
 public:
  explicit Generator(std::size_t bytes) : left_(bytes) {}
  std::size_t operator()(char* to, std::size_t size) {
    while (at_ == piece_.size()) {
      if (ended_) return 0;
      next();
    }
    const std::size_t n = std::min(size, piece_.size() - at_);
    std::memcpy(to, piece_.data() + at_, n);
    at_ += n;
    peak = std::max(peak, ++calls_ % 64 == 0 ? resident_bytes() : 0);
    return n;
  }
  std::size_t peak = 0;

 private:
  void next() {
    at_ = 0;
    if (left_ == 0) {
      piece_ = "]}";
      ended_ = true;
      return;
    }
    ToyTrace step;
    step.add("user_annotation", "ProfilerStep#" + std::to_string(number_), 1, 200.0 * number_, 199);
    // What such files are mostly made of: the Python stack.
    for (int i = 0; i < 2000; ++i) {
      step.add("python_function",
               "torch/nn/modules/module.py(1773): _wrapped_call_impl",
               1,
               200.0 * number_ + 0.05 * i,
               0.04,
               "\"Python parent id\": 17, \"Python id\": " + std::to_string(i));
    }
    add_toy_step(step, 200.0 * number_, 10 * number_);
    piece_ = step.events();
    piece_.front() = number_ == 0 ? ' ' : ',';
    piece_.back() = ' ';
    if (number_++ == 0) piece_ = "{\"traceEvents\": [" + piece_;
    left_ -= std::min(left_, piece_.size());
  }

  std::size_t left_;
  std::string piece_;
  std::size_t at_ = 0;
  std::size_t calls_ = 0;
  int number_ = 0;
  bool ended_ = false;
};

}  // namespace

TEST_CASE("memory does not follow the size of the file") {
  constexpr std::size_t size = 300'000'000;
  const std::size_t before = resident_bytes();
  const auto generator = std::make_shared<Generator>(size);
  TraceStream first("big.json", [&](char* to, std::size_t n) { return (*generator)(to, n); });
  const TraceSurvey survey = survey_trace(first);
  CHECK(first.offset() >= size);
  const TraceWindow window = steady_window(survey);
  CHECK(window.steps > 500);
  const auto again = std::make_shared<Generator>(size);
  TraceStream second("big.json", [&](char* to, std::size_t n) { return (*again)(to, n); });
  const TracedStep step = traced_step("big.json", survey, window, collect_trace(second, window));
  CHECK(step.kernels.size() == 5);
  const std::size_t peak = std::max(generator->peak, again->peak);
  CHECK(peak > 0);
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t held_back = 400'000'000;  // freed memory that the sanitizer keeps
#else
  constexpr std::size_t held_back = 0;
#endif
  CHECK(peak < before + 20'000'000 + held_back);
}

TEST_CASE("memory-bound operators are the passes that the model counts") {
  const auto pass = [](const std::string& name, const std::string& args) {
    return std::get<Pass>(traced_work(operator_event(name, args)).value());
  };
  const Pass norm = pass("aten::native_layer_norm",
                         R"("Input Dims": [[16, 512, 1024], []], "Input type": ["float", ""])");
  CHECK(norm.kind == PassKind::layer_norm);
  CHECK(norm.rows == 16 * 512);
  CHECK(norm.cols == 1024);
  CHECK(norm.dtype == Dtype::fp32);
  const Pass down = pass("aten::copy_", R"("Input Dims": [[7, 9], [7, 9]], "Input type":
                         ["c10::BFloat16", "float"])");
  CHECK(down.kind == PassKind::cast_down);
  CHECK(down.dtype == Dtype::bf16);
  CHECK(pass("aten::copy_", R"("Input Dims": [[7, 9], [7, 9]], "Input type": ["float",
             "c10::Half"])")
            .kind == PassKind::cast_up);
  CHECK(pass("aten::copy_", R"("Input Dims": [[7, 9], [7, 9]], "Input Strides": [[9, 1], [1, 7]],
             "Input type": ["float", "float"])")
            .kind == PassKind::transpose);
  CHECK(pass("aten::sum", R"("Input Dims": [[8192, 768], [], []], "Input type": ["c10::BFloat16"],
             "Concrete Inputs": ["", "[0]", "True"])")
            .kind == PassKind::bias_gradient);
  CHECK(pass("aten::add_", R"("Input Dims": [[5, 6], [5, 6]], "Input type": ["float", "float"])")
            .kind == PassKind::add);
  CHECK_FALSE(traced_work(operator_event("aten::add_", R"("Input Dims": [[5, 6], []], "Input type":
                                         ["float", "Scalar"])"))
                  .has_value());
  CHECK_FALSE(traced_work(operator_event("aten::sum", R"("Input Dims": [[5, 6]], "Input type":
                                         ["float"], "Concrete Inputs": ["", "[1]"])"))
                  .has_value());
  CHECK_FALSE(traced_work(operator_event("aten::view", R"("Input Dims": [[5, 6]], "Input type":
                                         ["float"])"))
                  .has_value());
}
