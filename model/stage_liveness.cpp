#include "model/stage_liveness.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace stepsight {

namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

double elements_of(const Pass& pass) {
  return real(pass.rows) * real(pass.cols);
}

// Bytes of the tensor that a pass writes; 0 for sums over rows, which are as small as a parameter.
double output_bytes(const Pass& pass) {
  const double elements = elements_of(pass);
  switch (pass.kind) {
    case PassKind::cast_up:
    case PassKind::add_mixed:
      return 4 * elements;
    case PassKind::cast_down:
      return elements * info(pass.dtype).bytes;
    case PassKind::embedding_backward:
      return 0;
    default:
      return elements * info(pass.dtype).bytes * info(pass.kind).wide_written;
  }
}

// Elements of a convolution's image, and of what it makes of it.
double image_elements(const Convolution& c) {
  return real(c.batch) * real(c.channels) * real(c.height) * real(c.width);
}
double result_elements(const Convolution& c) {
  return real(c.batch) * real(c.out) * real(out_height(c)) * real(out_width(c));
}

// The shared part of an attention's tensors: elements of one head's rows, all sequences.
double head_elements(const Attention& a) {
  return real(a.batch) * real(a.seq) * real(a.head_dim);
}

class StageWalk {
 public:
  StageWalk(const StageWork& stage, const LivenessRules& rules) : stage_(stage), rules_(rules) {}

  StageLiveness walk();

 private:
  // What one operator of forward keeps; backward's operators of the same label let it go.
  struct Saved {
    std::string_view label;
    double bytes = 0;
    bool computed_again = false;  // selective recomputation
  };

  [[nodiscard]] double width() const { return info(rules_.compute).bytes; }
  void keep(std::string_view label, double bytes, bool attention_scores = false);
  void release(std::string_view label);
  void forward(std::size_t i);
  void forward_gemm(std::size_t i, const Gemm& gemm);
  void forward_pass(const Operator& op, const Pass& pass);
  void forward_attention(const Operator& op, const Attention& a);
  void run_forward();
  void run_backward();
  std::size_t backward_run(std::size_t begin, std::size_t& ready);
  [[nodiscard]] bool is_parameter_gradient(std::size_t i) const;
  [[nodiscard]] double gathered_share(std::size_t i) const;

  const StageWork& stage_;
  const LivenessRules& rules_;
  StageLiveness out_;
  std::vector<Saved> stack_;
  double kept_ = 0;   // bytes of stack_
  double again_ = 0;  // bytes of what is computed again with an attention's backward

  // Forward.
  double output_ = 0;              // of the operator before
  bool output_kept_ = false;       // softmax and copies for products are kept as outputs
  const Gemm* product_ = nullptr;  // the last product, while only its siblings follow it
  double cast_input_ = 0;          // bytes that autocast has cast for the next product alone
  double cast_weight_ = 0;
  double fused_projection_ = 0;  // columns of the last projection
  bool rotated_ = false;

  // Backward.
  double flow_ = 0;       // gradients of activations on their way
  double gradients_ = 0;  // of parameters, that stay
};

void StageWalk::keep(std::string_view label, double bytes, bool attention_scores) {
  const bool again = attention_scores && rules_.recompute == Recompute::selective;
  (again ? again_ : kept_) += bytes;
  stack_.push_back({label, bytes, again});
}

// The last group of neighbours with that label.
void StageWalk::release(std::string_view label) {
  const auto last = std::find_if(
      stack_.rbegin(), stack_.rend(), [&](const Saved& s) { return s.label == label; });
  if (last == stack_.rend()) return;
  auto first = last.base();
  while (first != stack_.begin() && std::prev(first)->label == label) {
    --first;
    if (!first->computed_again) kept_ -= first->bytes;
  }
  stack_.erase(first, last.base());
}

// Sequence parallelism keeps a rank's share of an input that is gathered for the product.
double StageWalk::gathered_share(std::size_t i) const {
  const auto gathers = [&](const Exchange& e) {
    return e.before == i && e.axis == Axis::tensor && e.kind == CollectiveKind::all_gather;
  };
  return std::ranges::any_of(stage_.forward_exchanges, gathers) ? 1 / rules_.tensor_ranks : 1;
}

void StageWalk::forward_gemm(std::size_t i, const Gemm& gemm) {
  const std::string_view label = stage_.forward[i].label;
  const double input = real(gemm.m) * real(gemm.k) * real(gemm.batch) * info(gemm.dtype).bytes;
  // Query, key and value, or gate and up, read one tensor, unless autocast casts it for each.
  const bool sibling = product_ != nullptr && cast_input_ == 0 && product_->m == gemm.m &&
                       product_->k == gemm.k && gemm.batch == 1;
  if (!sibling && !output_kept_) {
    keep(label, cast_input_ > 0 ? cast_input_ : input * gathered_share(i), gemm.batch > 1);
  }
  if (cast_weight_ > 0) keep(label, cast_weight_);
  cast_weight_ = cast_input_ = 0;
  output_kept_ = false;
  product_ = gemm.batch == 1 ? &gemm : nullptr;
  fused_projection_ = real(gemm.n);
  rotated_ = false;
}

void StageWalk::forward_attention(const Operator& op, const Attention& a) {
  const double heads = real(a.heads);
  const double kv = real(a.kv_heads);
  const double each = head_elements(a) * info(a.dtype).bytes;
  const double log_sum_exp = real(a.batch) * real(a.seq) * heads * 4;
  // Of ring attention's blocks only the rank's own is kept; the others' keys and values come again.
  if (!stack_.empty() && stack_.back().label == op.label) return;
  // Its output is the next product's input, and kept as that.
  keep(op.label, (heads + 2 * kv) * each + log_sum_exp);
  // Value is a part of the fused projection's output, and holds all of it beside the rotated query
  // and key.
  const bool fused = fused_projection_ >= (heads + 2 * kv) * real(a.head_dim);
  if (rotated_ && fused) keep(op.label, (heads + kv) * each);
}

void StageWalk::forward_pass(const Operator& op, const Pass& pass) {
  const double elements = elements_of(pass);
  const double own = elements * info(pass.dtype).bytes;
  switch (pass.kind) {
    case PassKind::layer_norm:
      return keep(op.label, own + 8 * real(pass.rows));
    case PassKind::rms_norm:
      return keep(op.label, own + 4 * real(pass.rows));
    case PassKind::fused_norm:
      // The dropout before it is a part of the kernel, its mask is not.
      return keep(op.label, own + 8 * real(pass.rows) + (rules_.dropout ? elements : 0));
    case PassKind::gelu:
    case PassKind::fused_gelu:
    case PassKind::batch_norm:
    case PassKind::fused_batch_norm:
    case PassKind::fused_batch_norm_add:
      return keep(op.label, own);
    case PassKind::max_pool:
      return keep(op.label, 2 * elements);  // 8-byte indices of a quarter
    // Gate and up are its input, or are one tensor with it.
    case PassKind::silu:
    case PassKind::silu_strided:
    case PassKind::fused_swiglu:
      return keep(op.label, 2 * own);
    case PassKind::dropout:
      return keep(op.label, elements, op.label.starts_with("attention"));
    case PassKind::softmax:
      return keep(op.label, own, true);
    case PassKind::log_softmax:
      return keep(op.label, elements * (rules_.narrow_loss ? width() : 4));
    case PassKind::nll_loss:
      // Given 16-bit log-probabilities, autocast casts them, and the copy is kept.
      if (rules_.narrow_loss && rules_.mixed) keep(op.label, 4 * elements);
      return;
    case PassKind::fused_loss:
      return keep(op.label, own);
    default:
      break;
  }
  if (op.label == "gate x up") keep(op.label, own);        // SiLU's output
  if (op.label == "attention split") keep(op.label, own);  // query, key, value, heads together
}

void StageWalk::forward(std::size_t i) {
  const Operator& op = stage_.forward[i];
  const double before = kept_;
  double output = 0;
  if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
    output = real(gemm->m) * real(gemm->n) * real(gemm->batch) * width();
    forward_gemm(i, *gemm);
  } else if (const auto* attention = std::get_if<Attention>(&op.work)) {
    output = real(attention->heads) * head_elements(*attention) * info(attention->dtype).bytes;
    forward_attention(op, *attention);
    product_ = nullptr;
  } else if (const auto* convolution = std::get_if<Convolution>(&op.work)) {
    const double each = info(convolution->dtype).bytes;
    output = result_elements(*convolution) * each;
    keep(op.label, image_elements(*convolution) * each);
    product_ = nullptr;
  } else {
    const Pass& pass = std::get<Pass>(op.work);
    output = output_bytes(pass);
    forward_pass(op, pass);
    output_kept_ = pass.kind == PassKind::softmax || op.label == "attention split";
    rotated_ = rotated_ || op.label == "rotary";
    if (pass.kind == PassKind::cast_down) {
      // Bias, weight and input, in this order; only weight and input outlive the product.
      const auto* next =
          i + 1 < stage_.forward.size() ? std::get_if<Gemm>(&stage_.forward[i + 1].work) : nullptr;
      const bool weight = pass.rows > 1 && cast_weight_ == 0;
      if (weight) cast_weight_ = output;
      if (!weight && next != nullptr) cast_input_ = output;
    } else if (op.label != fp8_cast) {
      product_ = nullptr;
    }
  }
  const LiveBytes now{before, output_ + output + rules_.boundary_bytes, 0};
  if (now.sum() > out_.forward.sum()) out_.forward = now;
  output_ = output;
}

void StageWalk::run_forward() {
  output_ = rules_.boundary_bytes;
  for (std::size_t i = 0; i < stage_.forward.size(); ++i) forward(i);
  out_.saved = kept_;
}

// The table of an embedding's gradient, or a product's weight gradient cast to the parameter's
// type: counted when it is ready, not as a gradient of activations.
bool StageWalk::is_parameter_gradient(std::size_t i) const {
  const Operator& op = stage_.backward[i];
  const auto* const own = std::get_if<Pass>(&op.work);
  if (own == nullptr) return false;
  const Pass& pass = *own;
  if (pass.kind == PassKind::cast_up && i > 0) {
    const auto* product = std::get_if<Gemm>(&stage_.backward[i - 1].work);
    return product != nullptr && product->layout == Layout::NT && product->m == pass.rows &&
           product->n == pass.cols;
  }
  const bool table = op.label == "embedding" || op.label == "positions";
  return op.label == "tied gradient" || (table && pass.kind == PassKind::fill);
}

// Neighbours of one label are one node of autograd: its inputs and outputs all live at its end.
std::size_t StageWalk::backward_run(std::size_t begin, std::size_t& ready) {
  const std::string_view label = stage_.backward[begin].label;
  double outputs = 0;   // gradients of activations that it makes
  double scratch = 0;   // that it frees itself
  double consumed = 0;  // gradients that arrive for products; other nodes take all that arrives
  bool product = false;
  double weights = 0;
  std::size_t end = begin;
  for (; end < stage_.backward.size() && stage_.backward[end].label == label; ++end) {
    const Work& work = stage_.backward[end].work;
    if (const auto* gemm = std::get_if<Gemm>(&work)) {
      const double made = real(gemm->m) * real(gemm->n) * real(gemm->batch);
      if (gemm->layout == Layout::NT && gemm->batch == 1) {
        weights += made;
        if (rules_.mixed) scratch += made * width();  // before it is cast to the parameter's type
        continue;
      }
      outputs += made * width();
      consumed += real(gemm->m) * real(gemm->k) * real(gemm->batch) * width();
      product = gemm->batch == 1;
    } else if (const auto* a = std::get_if<Attention>(&work)) {
      const double each = head_elements(*a);
      outputs += (real(a->heads) + 2 * real(a->kv_heads)) * each * info(a->dtype).bytes;
      // FlashAttention-2 adds query's gradient up in fp32, and forms key's and value's for every
      // head of the query.
      scratch += real(a->heads) * each * 4;
      if (a->kv_heads < a->heads) scratch += 2 * real(a->heads) * each * info(a->dtype).bytes;
    } else if (const auto* convolution = std::get_if<Convolution>(&work)) {
      if (convolution->direction == ConvolutionDirection::dgrad) {
        outputs += image_elements(*convolution) * info(convolution->dtype).bytes;
      }
    } else {
      const Pass& pass = std::get<Pass>(work);
      // The gradient of compiled logits is written over the logits.
      if (pass.kind == PassKind::fused_loss_backward) release(label);
      if (!is_parameter_gradient(end)) outputs += output_bytes(pass);
    }
  }
  double complete = 0;
  double of_weights = 0;
  double temporary_gradients = 0;
  for (; ready < stage_.ready.size() && stage_.ready[ready].after < end; ++ready) {
    const double elements = real(stage_.ready[ready].elements);
    if (stage_.ready[ready].role == "weight") of_weights += elements;
    // The head's part of a tied gradient waits for the embedding's, and takes it in.
    const bool tied = elements == rules_.pending_elements;
    (tied ? temporary_gradients : complete) += elements * rules_.gradient_bytes;
  }
  const double pending = std::max(0.0, weights - of_weights);
  out_.pending_elements += pending;
  complete += pending * rules_.gradient_bytes;

  if (!product) consumed = flow_;
  const bool in_attention = label.starts_with("attention") && label != "attention output";
  LiveBytes now{kept_,
                flow_ + outputs + scratch + temporary_gradients + rules_.boundary_bytes +
                    (in_attention ? again_ : 0),
                gradients_ + complete};
  if (!rules_.gradients_stay) {
    now.temporary += complete;
    now.gradients = 0;
  }
  if (now.sum() > out_.backward.sum()) out_.backward = now;
  gradients_ += complete;
  flow_ = std::max(0.0, flow_ - consumed) + outputs;
  release(label);
  return end;
}

void StageWalk::run_backward() {
  std::size_t begin = 0;
  if (rules_.recompute == Recompute::full) begin = stage_.forward.size();
  std::size_t ready = 0;
  while (begin < stage_.backward.size()) begin = backward_run(begin, ready);
  out_.gradients = gradients_;
}

StageLiveness StageWalk::walk() {
  run_forward();
  run_backward();
  if (rules_.recompute == Recompute::full) {
    // Nothing but the input outlives forward; backward makes the rest again before it begins.
    out_.saved = rules_.boundary_bytes;
    out_.forward = {out_.saved, out_.forward.temporary, 0};
  }
  return out_;
}

}  // namespace

StageLiveness walk_stage(const StageWork& stage, const LivenessRules& rules) {
  return StageWalk(stage, rules).walk();
}

}  // namespace stepsight
