#include "model/convnet.h"

#include "model/stage_builder.h"

namespace stepsight {

namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

// One convolution with its batch norm.
struct ConvLayer {
  std::string_view label;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
};

// A residual block: the convolutions of its branch, and one beside them where the size changes.
struct ResidualBlock {
  std::vector<ConvLayer> branch;
  std::optional<ConvLayer> shortcut;
};

constexpr std::int64_t bottleneck_widening = 4;

ResidualBlock residual_block(std::int64_t in,
                             std::int64_t width,
                             std::int64_t stride,
                             bool bottleneck) {
  ResidualBlock out;
  const std::int64_t wide = bottleneck ? bottleneck_widening * width : width;
  if (bottleneck) {
    out.branch = {{"conv 1x1", in, width, 1, 1},
                  {"conv 3x3", width, width, 3, stride},
                  {"conv 1x1", width, wide, 1, 1}};
  } else {
    out.branch = {{"conv 3x3", in, width, 3, stride}, {"conv 3x3", width, width, 3, 1}};
  }
  if (stride != 1 || in != wide) out.shortcut = ConvLayer{"conv shortcut", in, wide, 1, stride};
  return out;
}

constexpr ConvLayer stem{"conv stem", 3, 64, 7, 2};

// Every block in order. `width` doubles and the image halves from stage to stage.
std::vector<ResidualBlock> residual_blocks(const ConvnetPlan& plan) {
  std::vector<ResidualBlock> out;
  std::int64_t in = stem.out;
  std::int64_t width = stem.out;
  for (std::size_t stage = 0; stage < plan.depth.size(); ++stage) {
    for (std::int64_t i = 0; i < plan.depth[stage]; ++i) {
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      out.push_back(residual_block(in, width, stride, plan.bottleneck));
      in = plan.bottleneck ? bottleneck_widening * width : width;
    }
    width *= 2;
  }
  return out;
}

constexpr std::int64_t halved(std::int64_t size) {
  return (size + 1) / 2;  // windows of odd size, padded by half of it, at stride 2
}

// Writes a stretch of the net down. `size` is the image's side, which strides shrink.
class ConvnetWriter {
 public:
  ConvnetWriter(const ModelShape& shape, const Training& training, std::int64_t size)
      : b_(shape, training, whole_), training_(training), size_(size) {}

  void stem_and_pool();
  void block(const ResidualBlock& block);
  void pool_and_classify(const ModelShape& shape, std::int64_t channels);
  [[nodiscard]] std::int64_t size() const { return size_; }
  StageWork finish() { return b_.finish(); }

 private:
  [[nodiscard]] std::int64_t pixels(std::int64_t size) const {
    return training_.batch * size * size;
  }
  [[nodiscard]] Pass pass(PassKind kind, std::int64_t size, std::int64_t channels) const {
    return {kind, pixels(size), channels, b_.compute()};
  }
  void convolution(const ConvLayer& layer, std::int64_t size, bool input_gradient);
  void batch_norm(const ConvLayer& layer, std::int64_t size, PassKind fused);
  void relu(std::int64_t size, std::int64_t channels);

  Parallel whole_;  // each rank holds the whole net
  StageBuilder b_;
  const Training& training_;
  std::int64_t size_;
};

// Autocast casts the filters in each step, and their gradient back.
void ConvnetWriter::convolution(const ConvLayer& layer, std::int64_t size, bool input_gradient) {
  const bool mixed = training_.precision.mixed;
  const std::int64_t weights = layer.in * layer.out * layer.kernel * layer.kernel;
  Convolution c{training_.batch,
                layer.in,
                size,
                size,
                layer.out,
                layer.kernel,
                layer.kernel,
                layer.stride,
                layer.kernel / 2};
  c.dtype = b_.compute();
  const std::int64_t columns = weights / layer.out;
  b_.begin();
  if (mixed) b_.forward(layer.label, Pass{PassKind::cast_down, layer.out, columns, b_.compute()});
  b_.forward(layer.label, c);
  if (input_gradient) {
    c.direction = ConvolutionDirection::dgrad;
    b_.backward(layer.label, c);
  }
  c.direction = ConvolutionDirection::wgrad;
  b_.backward(layer.label, c);
  if (mixed) b_.backward(layer.label, Pass{PassKind::cast_up, layer.out, columns, b_.compute()});
  b_.ready("conv.weight", weights);
  const double width = info(b_.compute()).bytes;
  b_.save(real(pixels(size) * layer.in) * width + (mixed ? real(weights) * width : 0.0));
}

// Eager mode counts the batches that the running statistics have seen in a kernel of its own.
void ConvnetWriter::batch_norm(const ConvLayer& layer, std::int64_t size, PassKind fused) {
  b_.begin();
  if (b_.fused()) {
    b_.forward("batch norm", pass(fused, size, layer.out));
    b_.backward("batch norm", pass(PassKind::fused_batch_norm_backward, size, layer.out));
  } else {
    b_.forward("batches seen", Pass{PassKind::add, 1, 1, Dtype::fp32});
    b_.forward("batch norm", pass(PassKind::batch_norm, size, layer.out));
    b_.backward("batch norm", pass(PassKind::batch_norm_backward, size, layer.out));
  }
  b_.ready("batch_norm.weight", layer.out);
  b_.ready("batch_norm.bias", layer.out);
  b_.save(real(pixels(size) * layer.out) * info(b_.compute()).bytes);
}

// In place; its result is what the next convolution keeps.
void ConvnetWriter::relu(std::int64_t size, std::int64_t channels) {
  if (b_.fused()) return;
  b_.begin();
  b_.forward("relu", pass(PassKind::copy, size, channels));
  b_.backward("relu", pass(PassKind::add, size, channels));
}

void ConvnetWriter::stem_and_pool() {
  if (training_.precision.mixed) {
    b_.begin();
    b_.forward("images to 16 bit", pass(PassKind::cast_down, size_, stem.in));
  }
  convolution(stem, size_, false);
  size_ = halved(size_);
  batch_norm(stem, size_, PassKind::fused_batch_norm);
  relu(size_, stem.out);
  b_.begin();
  b_.forward("max pool", pass(PassKind::max_pool, halved(size_), stem.out));
  b_.backward("max pool", pass(PassKind::fill, size_, stem.out));
  b_.backward("max pool", pass(PassKind::max_pool_backward, halved(size_), stem.out));
  b_.save(real(pixels(size_) * stem.out) * info(b_.compute()).bytes);
  size_ = halved(size_);
  b_.save(real(pixels(size_) * stem.out) * 8);  // the indices
}

void ConvnetWriter::block(const ResidualBlock& block) {
  const std::int64_t in = size_;
  // Both branches' gradients of the shared input.
  b_.begin();
  b_.backward("residual gradient", pass(PassKind::add, in, block.branch.front().in));
  for (std::size_t i = 0; i < block.branch.size(); ++i) {
    const ConvLayer& layer = block.branch[i];
    const bool last = i + 1 == block.branch.size();
    convolution(layer, size_, true);
    if (layer.stride > 1) size_ = halved(size_);
    batch_norm(layer, size_, last ? PassKind::fused_batch_norm_add : PassKind::fused_batch_norm);
    if (!last) relu(size_, layer.out);
  }
  if (block.shortcut) {
    convolution(*block.shortcut, in, true);
    batch_norm(*block.shortcut, size_, PassKind::fused_batch_norm);
  }
  const std::int64_t out = block.branch.back().out;
  if (!b_.fused()) {
    b_.begin();
    b_.forward("residual add", pass(PassKind::add, size_, out));
  }
  relu(size_, out);
}

void ConvnetWriter::pool_and_classify(const ModelShape& shape, std::int64_t channels) {
  const std::int64_t images = training_.batch;
  b_.begin();
  b_.forward("average pool", pass(PassKind::bias_gradient, size_, channels));
  b_.backward("average pool", pass(PassKind::fill, size_, channels));
  b_.linear({.label = "classifier",
             .in = channels,
             .out = shape.vocab,
             .bias = true,
             .input = b_.compute(),
             .rows = images});
  b_.classifier_loss(images, shape.vocab);
}

}  // namespace

std::optional<ConvnetPlan> convnet_plan(std::int64_t layers) {
  switch (layers) {
    case 18:
      return ConvnetPlan{{2, 2, 2, 2}, false};
    case 34:
      return ConvnetPlan{{3, 4, 6, 3}, false};
    case 50:
      return ConvnetPlan{{3, 4, 6, 3}, true};
    case 101:
      return ConvnetPlan{{3, 4, 23, 3}, true};
    case 152:
      return ConvnetPlan{{3, 8, 36, 3}, true};
    default:
      return std::nullopt;
  }
}

std::vector<ParameterTensor> convnet_tensors(const ModelShape& shape) {
  std::vector<ParameterTensor> out;
  std::int64_t index = -1;
  const auto add = [&](const ConvLayer& layer) {
    out.push_back({"conv.weight", index, layer.in * layer.out * layer.kernel * layer.kernel});
    out.push_back({"batch_norm.weight", index, layer.out});
    out.push_back({"batch_norm.bias", index, layer.out});
  };
  add(stem);
  std::int64_t channels = stem.out;
  for (const ResidualBlock& block : residual_blocks(*convnet_plan(shape.layers))) {
    ++index;
    for (const ConvLayer& layer : block.branch) add(layer);
    if (block.shortcut) add(*block.shortcut);
    channels = block.branch.back().out;
  }
  ++index;
  out.push_back({"classifier.weight", index, channels * shape.vocab});
  out.push_back({"classifier.bias", index, shape.vocab});
  return out;
}

ModelStages convnet_stages(const ModelShape& shape, const Training& training) {
  const ConvnetPlan plan = *convnet_plan(shape.layers);
  const std::vector<ResidualBlock> blocks = residual_blocks(plan);
  ModelStages out;
  out.blocks = plan.depth.back() - 1;  // the last stage's first block changes the size
  ConvnetWriter first(shape, training, shape.image);
  first.stem_and_pool();
  for (std::size_t i = 0; i + static_cast<std::size_t>(out.blocks) < blocks.size(); ++i) {
    first.block(blocks[i]);
  }
  ConvnetWriter repeated(shape, training, first.size());
  repeated.block(blocks.back());
  ConvnetWriter last(shape, training, first.size());
  last.pool_and_classify(shape, blocks.back().branch.back().out);
  out.embedding = first.finish();
  out.block = repeated.finish();
  out.head = last.finish();
  return out;
}

double convnet_block_input(const ModelShape& shape, const Training& training) {
  std::int64_t size = shape.image;
  for (int i = 0; i < 5; ++i) size = halved(size);
  const std::int64_t channels =
      residual_blocks(*convnet_plan(shape.layers)).back().branch.front().in;
  return real(training.batch * size * size * channels) * info(training.precision.compute).bytes;
}

std::vector<std::string> convnet_problems(const ModelShape& shape) {
  std::vector<std::string> found;
  if (!convnet_plan(shape.layers)) {
    found.push_back("layers of a resnet must be 18, 34, 50, 101 or 152, got " +
                    std::to_string(shape.layers));
  }
  constexpr std::int64_t smallest = 32;  // five halvings leave a pixel
  constexpr std::int64_t largest = 16384;
  if (shape.image < smallest || shape.image > largest) {
    found.push_back("image must be 32 to 16384 pixels a side, got " + std::to_string(shape.image));
  }
  if (shape.vocab < 1) {
    found.push_back("vocab must be at least 1 (a resnet's classes), got " +
                    std::to_string(shape.vocab));
  }
  return found;
}

}  // namespace stepsight
