#include "model/io/trace_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "model/errors.h"
#include "model/io/trace_json.h"
#include "model/io/trace_shapes.h"

namespace stepsight {

namespace {

constexpr std::string_view accumulate_node = "torch::autograd::AccumulateGrad";
constexpr std::string_view evaluated_node = "autograd::engine::evaluate_function";
constexpr std::size_t most_marks = 100'000;

bool is_kernel(const TraceEvent& e) {
  return e.category == "kernel" || e.category == "gpu_memcpy" || e.category == "gpu_memset" ||
         e.category == "Kernel" || e.category == "Memcpy" || e.category == "Memset";
}
bool is_call(const TraceEvent& e) {
  return e.category == "cuda_runtime" || e.category == "cuda_driver" || e.category == "Runtime" ||
         e.category == "hip_runtime";
}
// Operators, and stretches that the program names on the host.
bool is_host(const TraceEvent& e) {
  return e.category == "cpu_op" || e.category == "user_annotation" || e.category == "Operator";
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view p) { return contains(text, p); });
}

bool is_collective(std::string_view kernel) {
  return kernel.starts_with("nccl") || kernel.starts_with("rccl") ||
         contains(kernel, "ncclKernel") || contains(kernel, "ncclDevKernel");
}

std::string lower(std::string_view text) {
  std::string out(text.substr(0, 400));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// What the names of the libraries' kernels say (cuBLAS, cuDNN, CUTLASS, flash-attention, PyTorch).
KernelKind kind_of(const TraceEvent& e) {
  if (e.category == "gpu_memcpy" || e.category == "Memcpy") {
    if (contains(e.name, "DtoH")) return KernelKind::copy_to_host;
    return contains(e.name, "HtoD") ? KernelKind::copy_from_host : KernelKind::memory;
  }
  if (e.category != "kernel" && e.category != "Kernel") return KernelKind::memory;
  const std::string name = lower(e.name);
  if (contains_any(name,
                   {"flash", "fmha", "sdpa", "attention", "compute_dot_do_o", "convert_dq"})) {
    return KernelKind::attention;
  }
  if (contains_any(name,
                   {"at::native", "batchnorm", "batch_norm", "bn_fw", "bn_bw", "norm_kernel"})) {
    return KernelKind::memory;
  }
  const bool product = contains_any(name,
                                    {"gemm",
                                     "nvjet",
                                     "cutlass",
                                     "xmma",
                                     "cublas",
                                     "wgrad",
                                     "dgrad",
                                     "fprop",
                                     "winograd",
                                     "convolve",
                                     "cudnn"});
  return product ? KernelKind::product : KernelKind::memory;
}

Dtype dtype_of_product(std::string_view kernel) {
  const std::string name = lower(kernel);
  if (contains_any(name, {"e4m3", "e5m2", "fp8", "qmma"})) return Dtype::fp8;
  if (contains_any(name, {"bf16", "bfloat16", "_tst_", "_tss_"})) return Dtype::bf16;
  if (contains_any(name, {"f16", "h16", "half", "hgemm", "h884", "fp16", "_hsh_", "_hss_"})) {
    return Dtype::fp16;
  }
  if (contains_any(name, {"tf32"})) return Dtype::tf32;
  if (contains_any(name, {"sgemm", "f32", "ffma", "simt"})) return Dtype::fp32;
  return Dtype::bf16;
}

std::optional<TraceMark::Kind> mark_kind(std::string_view name) {
  if (name.starts_with("ProfilerStep")) return TraceMark::Kind::step;
  if (name.starts_with("Optimizer.step")) return TraceMark::Kind::optimizer;
  if (name.starts_with("Optimizer.zero_grad")) return TraceMark::Kind::zero_grad;
  return std::nullopt;
}

TraceSpan span_of(const TraceEvent& e) {
  return {*e.start, e.duration.value_or(0), e.thread};
}

// Elements of a gradient: 1 for a scalar; 0 where it was not recorded or is out of range.
std::int64_t elements_of(const TraceEvent& e) {
  if (e.sizes.empty() || e.sizes.front().count > TraceDims::most) return 0;
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  std::int64_t out = 1;
  const TraceDims& dims = e.sizes.front();
  for (std::size_t i = 0; i < dims.count; ++i) {
    if (dims.at[i] < 1 || out > largest / dims.at[i]) return 0;
    out *= dims.at[i];
  }
  return out;
}

[[noreturn]] void no_kernels(const TraceStream& stream, const TraceSurvey& s) {
  if (s.operators > 0) {
    throw UserError(
        stream.name() + ": holds " + std::to_string(s.operators) +
        " operators of the host and no kernel of a GPU: the step ran on the CPU or the "
        "profiler recorded ProfilerActivity.CPU only; record ProfilerActivity.CUDA, too");
  }
  throw UserError(stream.name() +
                  ": holds no kernels and no operators: expected a trace of torch.profiler "
                  "(export_chrome_trace) of a training step on one GPU");
}

void check(const TraceStream& stream, const TraceSurvey& s, bool any_events) {
  if (!any_events) {
    throw UserError(stream.name() + R"(: has no "traceEvents": expected a trace of torch.profiler )"
                                    "(export_chrome_trace)");
  }
  if (s.kernels == 0) no_kernels(stream, s);
  if (s.collectives > 0 || s.world > 1) {
    throw UserError(stream.name() + ": is of rank " + std::to_string(s.rank) + " of " +
                    std::to_string(s.world) + " ranks (" + std::to_string(s.collectives) +
                    " collective kernels): a kernel that waits for other ranks says nothing about "
                    "this one; trace the step on a single GPU, without a data-parallel wrapper");
  }
  if (s.devices.size() > 1) {
    throw UserError(stream.name() + ": holds kernels of " + std::to_string(s.devices.size()) +
                    " GPUs; trace the step on a single GPU");
  }
}

void survey(const TraceStream& stream, const TraceEvent& e, TraceSurvey& s) {
  if (e.phase != 'X' || !e.start) return;
  if (is_kernel(e)) {
    ++s.kernels;
    if (is_collective(e.name)) ++s.collectives;
    if (s.devices.size() < 64 && std::ranges::find(s.devices, e.device) == s.devices.end()) {
      s.devices.push_back(e.device);
    }
    return;
  }
  if (!is_host(e)) return;
  const double end = *e.start + e.duration.value_or(0);
  if (s.operators == 0) s.begin = *e.start, s.end = end;
  s.begin = std::min(s.begin, *e.start);
  s.end = std::max(s.end, end);
  ++s.operators;
  const auto kind = mark_kind(e.name);
  if (!kind) return;
  if (s.marks.size() >= most_marks) stream.fail("holds more than 100,000 marks of steps");
  s.marks.push_back({*kind, e.name.substr(0, 100), span_of(e)});
}

class Collector {
 public:
  Collector(const TraceStream& stream, const TraceWindow& window)
      : stream_(stream), window_(window) {
    // A GPU lags behind its host by no more than the launches that fit its queue, a few steps.
    latest_kernel_ = window.end + 4 * (window.end - window.begin) + 1e6;
  }
  void take(const TraceEvent& e);
  TraceEvents finish();

 private:
  void take_kernel(const TraceEvent& e);
  void take_call(const TraceEvent& e);
  void take_host(const TraceEvent& e);
  [[nodiscard]] bool inside(const TraceEvent& e) const {
    return window_.whole || (*e.start >= window_.begin && *e.start < window_.end);
  }
  template <typename T>
  void keep(std::vector<T>& list, const T& item) {
    if (list.size() >= most_trace_kernels) {
      stream_.fail("holds more than " + std::to_string(most_trace_kernels) +
                   " kernels or operators in one step; trace a single step, or mark steps with "
                   "profiler.step()");
    }
    list.push_back(item);
  }

  const TraceStream& stream_;
  const TraceWindow& window_;
  double latest_kernel_ = 0;
  TraceEvents out_;
  std::vector<TraceGradient> nodes_;  // evaluations of AccumulateGrad, where its own event lacks
};

void Collector::take_kernel(const TraceEvent& e) {
  if (!e.start || !e.duration) stream_.fail(R"(a kernel without "ts" or "dur")");
  if (!window_.whole && (*e.start < window_.begin || *e.start > latest_kernel_)) return;
  TraceKernel k;
  k.start = *e.start;
  k.duration = *e.duration;
  k.correlation = e.correlation.value_or(0);
  k.external_id = e.external_id.value_or(0);
  k.kind = kind_of(e);
  if (k.kind == KernelKind::product) k.dtype = dtype_of_product(e.name);
  keep(out_.kernels, k);
}

void Collector::take_call(const TraceEvent& e) {
  if (!inside(e)) return;
  if (contains(e.name, "Synchronize")) {
    keep(out_.waits, span_of(e));
    return;
  }
  const bool launches = contains_any(e.name, {"Launch", "Memcpy", "Memset", "launch", "memcpy"});
  if (!launches || !e.correlation) return;
  keep(out_.launches,
       TraceLaunch{
           *e.start, e.duration.value_or(0), *e.correlation, e.external_id.value_or(0), e.thread});
}

void Collector::take_host(const TraceEvent& e) {
  if (!inside(e)) return;
  const std::string_view name = e.name;
  if (const auto kind = mark_kind(name)) {
    if (*kind != TraceMark::Kind::step) keep(out_.marks, {*kind, e.name, span_of(e)});
    return;
  }
  if (name.starts_with(evaluated_node)) {
    keep(out_.backward, span_of(e));
    if (e.sequence) keep(out_.backward_sequence, {*e.sequence, *e.start});
    if (name.ends_with(accumulate_node)) keep(nodes_, {*e.start, 0, std::nullopt});
    return;
  }
  if (name == accumulate_node) {
    keep(
        out_.gradients,
        {*e.start, elements_of(e), e.types.empty() ? std::nullopt : traced_dtype(e.types.front())});
    return;
  }
  if (e.sequence && e.forward_thread.value_or(1) == 0) {
    // An operator and those that it calls share a number; the outermost comes first.
    auto& list = out_.forward_sequence;
    if (list.empty() || list.back().number != *e.sequence) keep(list, {*e.sequence, *e.start});
  }
  if (!e.external_id) return;
  const bool same = e.types.size() > 1 && e.types[0] == e.types[1];
  if (name == "aten::copy_" && !same) keep(out_.casts, *e.external_id);
  if (const std::optional<Work> work = traced_work(e)) {
    keep(out_.operators, {*e.external_id, *work});
  }
}

void Collector::take(const TraceEvent& e) {
  if (e.phase != 'X') return;
  if (is_kernel(e)) {
    take_kernel(e);
  } else if (e.start && is_call(e)) {
    take_call(e);
  } else if (e.start && is_host(e)) {
    take_host(e);
  }
}

TraceEvents Collector::finish() {
  if (out_.gradients.empty()) out_.gradients = std::move(nodes_);
  std::ranges::sort(out_.casts);
  return std::move(out_);
}

}  // namespace

bool names_a_trace(const std::string& name) {
  if (name.ends_with(".json.gz")) return true;
  if (!name.ends_with(".json")) return false;
  std::ifstream file(name, std::ios::binary);
  std::string head(4'000'000, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return contains(head, "\"traceEvents\"");
}

TraceSurvey survey_trace(TraceStream& stream) {
  TraceSurvey s;
  const TraceHeader header =
      read_trace_events(stream, [&](TraceEvent& e) { survey(stream, e, s); });
  s.gpu = header.gpu;
  s.multiprocessors = header.multiprocessors;
  s.rank = header.rank;
  s.world = header.world;
  check(stream, s, header.any_events);
  return s;
}

TraceEvents collect_trace(TraceStream& stream, const TraceWindow& window) {
  Collector collector(stream, window);
  read_trace_events(stream, [&](TraceEvent& e) { collector.take(e); });
  return collector.finish();
}

TracedStep read_traced_step(const std::string& path,
                            const std::function<void(std::uint64_t bytes)>& progress) {
  std::uint64_t read = 0;
  const auto heard = [&](std::size_t bytes) {
    read += bytes;
    if (progress) progress(read);
  };
  const TraceSurvey survey = survey_trace(*open_trace(path, heard));
  const TraceWindow window = steady_window(survey);
  return traced_step(path, survey, window, collect_trace(*open_trace(path, heard), window));
}

}  // namespace stepsight
