// The parameters that are fitted, as plain structs templated on the scalar, each with one table that
// says name, unit, start, bounds and meaning. The table drives fitting, profile files, documentation
// and reports; the formulas that use the fields are in model/cost.h.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace stepsight {

struct ParameterInfo {
  std::string_view name;  // carries its unit
  double initial;         // where a fit starts, and the class value where nothing was measured
  double lower;
  double upper;
  std::string_view meaning;
};

template <typename Struct, typename Scalar>
struct ParameterField {
  ParameterInfo info;
  Scalar Struct::*member;
};

template <typename T>
struct GemmParameters {
  T peak_TFLOPS{};
  T ramp_k{};
  T wave_weight{};
  T tile_edge{};
  T split_k{};
  T overhead_us{};
  T bandwidth_TBps{};
  T write_cost{};
  T rows8_slowdown{};
  T rows4_slowdown{};
  T rows2_slowdown{};
  T narrow_tile_edge{};
  T narrow_split_k{};
  T odd_n_slowdown{};
  T misaligned_k_slowdown{};
  T nn_slowdown{};
  T nt_slowdown{};

  static constexpr auto fields() {
    using G = GemmParameters;
    return std::array<ParameterField<G, T>, 17>{{
        {{"peak_TFLOPS", 600, 0.5, 5000, "rate of a large product, all multiprocessors busy"},
         &G::peak_TFLOPS},
        {{"ramp_k", 100, 0, 5000, "depth k at which a tile's start and end cost as much as its work"},
         &G::ramp_k},
        {{"wave_weight", 0.5, 0, 1, "0: work spreads evenly; 1: a part wave costs a whole one"},
         &G::wave_weight},
        {{"tile_edge", 30, 0, 256,
          "rows cols / (rows + cols) of a tile whose factors load as long as it computes"},
         &G::tile_edge},
        {{"split_k", 1500, 0, 20000, "depth k that costs as much as cutting a tile along k"},
         &G::split_k},
        {{"overhead_us", 2, 0, 50, "kernel start and end"}, &G::overhead_us},
        {{"bandwidth_TBps", 3, 0.01, 20, "rate of the factors' bytes"}, &G::bandwidth_TBps},
        {{"write_cost", 1.25, 1, 5, "time of a byte of the result, relative to one of a factor"},
         &G::write_cost},
        {{"rows8_slowdown", 2.7, 1, 20, "slow-down of tiles when rows align to 8 bytes, not to 16"},
         &G::rows8_slowdown},
        {{"rows4_slowdown", 2.7, 1, 20, "the same for 4 bytes"}, &G::rows4_slowdown},
        {{"rows2_slowdown", 5, 1, 40, "the same for 2 bytes or 1"}, &G::rows2_slowdown},
        {{"narrow_tile_edge", 65, 0, 256, "tile_edge of the kernels for rows not aligned to 16 bytes"},
         &G::narrow_tile_edge},
        {{"narrow_split_k", 150, 0, 20000, "split_k of the same"}, &G::narrow_split_k},
        {{"odd_n_slowdown", 1.4, 1, 5, "the same kernels in layout TN when the result's rows align to 2"},
         &G::odd_n_slowdown},
        {{"misaligned_k_slowdown", 1.07, 1, 5,
          "the same kernels when the factors' rows along k are misaligned and the result's are not"},
         &G::misaligned_k_slowdown},
        {{"nn_slowdown", 1, 1, 20, "slow-down of aligned tiles in layout NN, one factor not along k"},
         &G::nn_slowdown},
        {{"nt_slowdown", 1, 1, 20, "the same in layout NT, no factor along k"}, &G::nt_slowdown},
    }};
  }
};

template <typename T>
struct AttentionParameters {
  T peak_TFLOPS{};
  T head_dim_half{};
  T seq_half{};
  T overhead_us{};
  T tile_latency_us{};
  T full_mask_gain{};
  T dropout_slowdown{};

  static constexpr auto fields() {
    using A = AttentionParameters;
    return std::array<ParameterField<A, T>, 7>{{
        {{"peak_TFLOPS", 600, 0.5, 5000, "rate of long sequences with wide heads"}, &A::peak_TFLOPS},
        {{"head_dim_half", 30, 0, 1000, "head width at which the rate is half"}, &A::head_dim_half},
        {{"seq_half", 300, 0, 10000, "sequence length at which the rate is half (masked edges)"},
         &A::seq_half},
        {{"overhead_us", 5, 0, 200, "kernel starts and ends"}, &A::overhead_us},
        {{"tile_latency_us", 0.3, 0, 50, "one 128 x 128 tile of scores on a multiprocessor, alone"},
         &A::tile_latency_us},
        {{"full_mask_gain", 1.0, 0.3, 3, "rate without a causal mask, relative to with"},
         &A::full_mask_gain},
        {{"dropout_slowdown", 1.5, 1, 10, "time with dropout on the weights, relative to without"},
         &A::dropout_slowdown},
    }};
  }
};

template <typename T>
struct PassParameters {
  T overhead_us{};
  T row_ns{};
  T element_ps{};
  T bandwidth_TBps{};

  static constexpr auto fields() {
    using P = PassParameters;
    return std::array<ParameterField<P, T>, 4>{{
        {{"overhead_us", 1.5, 0, 100, "kernel starts and ends"}, &P::overhead_us},
        {{"row_ns", 0.1, 0, 1000, "cost of a row whatever its length"}, &P::row_ns},
        {{"element_ps", 0.1, 0, 1000, "arithmetic and indexing of an element"}, &P::element_ps},
        {{"bandwidth_TBps", 3.8, 0.01, 30, "rate of the bytes read and written"},
         &P::bandwidth_TBps},
    }};
  }
};

// A convolution in one direction, relative to the product that it amounts to.
template <typename T>
struct ConvolutionParameters {
  T slowdown{};
  T window_slowdown{};
  T narrow_slowdown{};
  T overhead_us{};
  T bandwidth_TBps{};

  static constexpr auto fields() {
    using C = ConvolutionParameters;
    return std::array<ParameterField<C, T>, 5>{{
        {{"slowdown", 1.2, 0.3, 20, "time over that of the product with the same FLOP"},
         &C::slowdown},
        {{"window_slowdown", 1.2, 0.3, 20, "the same for windows of more than one pixel, beside it"},
         &C::window_slowdown},
        {{"narrow_slowdown", 2, 0.3, 40, "the same for channels that are padded to 8, beside it"},
         &C::narrow_slowdown},
        {{"overhead_us", 4, 0, 100, "kernel starts and ends"}, &C::overhead_us},
        {{"bandwidth_TBps", 3, 0.01, 20, "rate of image, filters and result"}, &C::bandwidth_TBps},
    }};
  }
};

// What the host spends to issue work, eager or compiled.
template <typename T>
struct HostParameters {
  T forward_us{};
  T backward_us{};
  T cast_us{};
  T accumulate_us{};
  T bucket_tensor_us{};
  T compiled_forward_us{};
  T compiled_backward_us{};
  T optimizer_tensor_us{};
  T collective_us{};
  T gather_unit_us{};
  T scatter_unit_us{};
  T sharded_tensor_us{};
  T step_us{};

  static constexpr auto fields() {
    using H = HostParameters;
    return std::array<ParameterField<H, T>, 13>{{
        {{"forward_us", 20, 0.1, 500, "issue of one eager operator in forward"}, &H::forward_us},
        {{"backward_us", 20, 0.1, 500, "issue of one operator in backward"}, &H::backward_us},
        {{"cast_us", 8, 0.1, 500, "issue of one cast that autocast inserts"}, &H::cast_us},
        {{"accumulate_us", 8, 0, 500, "adding a gradient to one that is there, a tensor"},
         &H::accumulate_us},
        {{"bucket_tensor_us", 20, 0, 500, "hook and copy of a gradient into its bucket, a tensor"},
         &H::bucket_tensor_us},
        {{"compiled_forward_us", 10, 0.1, 500, "issue of one kernel of a compiled forward"},
         &H::compiled_forward_us},
        {{"compiled_backward_us", 10, 0.1, 500, "issue of one kernel of a compiled backward"},
         &H::compiled_backward_us},
        {{"optimizer_tensor_us", 5, 0, 500, "optimizer step and gradient reset, a parameter tensor"},
         &H::optimizer_tensor_us},
        {{"collective_us", 100, 0, 5000, "issue of one gradient bucket's communication"},
         &H::collective_us},
        {{"gather_unit_us", 250, 0, 10000,
          "hooks and issue of gathering one unit of sharded parameters"},
         &H::gather_unit_us},
        {{"scatter_unit_us", 250, 0, 10000, "hooks and issue of scattering one unit's gradients"},
         &H::scatter_unit_us},
        {{"sharded_tensor_us", 10, 0, 1000,
          "optimizer step of a sharded parameter tensor, beyond that of a whole one"},
         &H::sharded_tensor_us},
        {{"step_us", 100, 0, 50000, "loop, zero_grad and what a step costs once"}, &H::step_us},
    }};
  }
};

// What the GPU spends between kernels.
template <typename T>
struct LaunchParameters {
  T stream_gap_us{};

  static constexpr auto fields() {
    using L = LaunchParameters;
    return std::array<ParameterField<L, T>, 1>{{
        {{"stream_gap_us", 0.7, 0, 20,
          "start of a kernel issued to a stream, beyond that of one in a graph"},
         &L::stream_gap_us},
    }};
  }
};

// A copy between host and device memory: start-up and rate.
template <typename T>
struct CopyParameters {
  T latency_us{};
  T bandwidth_GBps{};

  static constexpr auto fields() {
    using C = CopyParameters;
    return std::array<ParameterField<C, T>, 2>{{
        {{"latency_us", 10, 0, 1000, "start of a copy"}, &C::latency_us},
        {{"bandwidth_GBps", 25, 0.01, 1000, "rate of a large copy from or to pinned memory"},
         &C::bandwidth_GBps},
    }};
  }
};

// Rates, relative to running alone, while compute and communication run together.
template <typename T>
struct OverlapParameters {
  T compute_under_collective{};
  T collective_under_compute{};
  T memory_under_collective{};
  T collective_under_memory{};
  T compute_under_copy{};
  T copy_under_compute{};

  static constexpr auto fields() {
    using O = OverlapParameters;
    return std::array<ParameterField<O, T>, 6>{{
        {{"compute_under_collective", 0.9, 0.2, 1,
          "what instructions bound (products, attention) in eight rounds of tiles while a "
          "collective's kernel runs; fewer rounds are slowed more (model/rounds.h)"},
         &O::compute_under_collective},
        {{"collective_under_compute", 0.95, 0.2, 1, "a collective while such compute runs"},
         &O::collective_under_compute},
        {{"memory_under_collective", 0.9, 0.2, 1,
          "what memory bounds while a collective's kernel runs"},
         &O::memory_under_collective},
        {{"collective_under_memory", 0.95, 0.2, 1, "a collective while memory-bound kernels run"},
         &O::collective_under_memory},
        {{"compute_under_copy", 1, 0.2, 1, "compute while a copy engine moves data"},
         &O::compute_under_copy},
        {{"copy_under_compute", 1, 0.2, 1, "a copy while compute runs"}, &O::copy_under_compute},
    }};
  }
};

// What the card draws. Energies are at the highest clock; they fall with the clock because the voltage
// does.
template <typename T>
struct PowerParameters {
  T static_W{};
  T flop_pJ{};
  T byte_pJ{};
  T clock_exponent{};

  static constexpr auto fields() {
    using P = PowerParameters;
    return std::array<ParameterField<P, T>, 4>{{
        {{"static_W", 120, 1, 2000, "at the highest clock with nothing to do"}, &P::static_W},
        {{"flop_pJ", 0.6, 0.001, 1000, "a bf16 FLOP of a product; other formats as their peak rates"},
         &P::flop_pJ},
        {{"byte_pJ", 60, 0, 10000, "a byte to or from global memory"}, &P::byte_pJ},
        {{"clock_exponent", 1.5, 0, 4, "energy of a FLOP goes with the clock to this power"},
         &P::clock_exponent},
    }};
  }
};

// A collective on one link, one group size: latency, bandwidth, and a ramp between the two.
template <typename T>
struct CollectiveParameters {
  T latency_us{};
  T ramp_us{};
  T busbw_GBps{};

  static constexpr auto fields() {
    using C = CollectiveParameters;
    return std::array<ParameterField<C, T>, 3>{{
        {{"latency_us", 20, 0.1, 10000, "smallest message"}, &C::latency_us},
        {{"ramp_us", 5, 0, 10000, "what a message of 1 MB costs beyond latency and bandwidth"},
         &C::ramp_us},
        {{"busbw_GBps", 100, 0.001, 2000, "bus bandwidth of the largest messages"}, &C::busbw_GBps},
    }};
  }
};

// The start values of a table, as numbers.
template <template <typename> typename Parameters>
constexpr Parameters<double> class_values() {
  Parameters<double> out{};
  for (const auto& field : Parameters<double>::fields()) out.*field.member = field.info.initial;
  return out;
}

}  // namespace stepsight
