#include "model/vit.h"

namespace stepsight {

namespace {

constexpr std::int64_t colours = 3;

double real(std::int64_t value) {
  return static_cast<double>(value);
}

}  // namespace

void patch_embedding(StageBuilder& b, const ModelShape& s) {
  const Training& t = b.training();
  const bool mixed = t.precision.mixed;
  const std::int64_t patches = t.batch * (image_tokens(s) - 1);
  const std::int64_t tokens = t.batch * image_tokens(s);
  const std::int64_t window = colours * s.patch * s.patch;
  const Dtype type = b.compute();
  Convolution c{t.batch, colours, s.image, s.image, s.hidden, s.patch, s.patch, s.patch, 0};
  c.dtype = type;
  const Pass pixels{PassKind::cast_down, t.batch * s.image * s.image, colours, type};
  b.begin();
  if (mixed) b.forward("images to 16 bit", pixels);
  if (mixed) b.forward("patches", Pass{PassKind::cast_down, s.hidden, window, type});
  b.forward("patches", c);
  b.forward("patches", Pass{PassKind::add_broadcast, patches, s.hidden, type});
  c.direction = ConvolutionDirection::wgrad;
  b.backward("patches", c);
  if (mixed) b.backward("patches", Pass{PassKind::cast_up, s.hidden, window, type});
  b.ready("patch.weight", s.hidden * window);
  b.backward("patches", Pass{PassKind::bias_gradient, patches, s.hidden, type});
  b.ready("patch.bias", s.hidden);
  b.save(real(t.batch * s.image * s.image * colours) * info(type).bytes);
  b.begin();
  b.forward("class token", Pass{PassKind::concat, tokens, s.hidden, type});
  b.backward("class token", Pass{PassKind::copy, patches, s.hidden, type});
  b.backward("class token", Pass{PassKind::bias_gradient, t.batch, s.hidden, type});
  b.ready("class_token", s.hidden);
  b.begin();
  b.forward("positions", Pass{PassKind::add_broadcast, tokens, s.hidden, b.stream()});
  b.backward("positions",
             Pass{PassKind::bias_gradient, t.batch, image_tokens(s) * s.hidden, b.stream()});
  b.ready("positions", image_tokens(s) * s.hidden);
}

void image_classifier(StageBuilder& b, const ModelShape& s) {
  const std::int64_t images = b.training().batch;
  b.begin();
  b.forward("class token", Pass{PassKind::copy, images, s.hidden, b.stream()});
  b.backward("class token", Pass{PassKind::fill, images * image_tokens(s), s.hidden, b.stream()});
  b.linear({.label = "classifier",
            .in = s.hidden,
            .out = s.vocab,
            .bias = true,
            .input = b.stream(),
            .rows = images,
            .fp8 = false});
  b.classifier_loss(images, s.vocab);
}

std::vector<ParameterTensor> patch_tensors(const ModelShape& s) {
  return {{"class_token", -1, s.hidden},
          {"patch.weight", -1, s.hidden * colours * s.patch * s.patch},
          {"patch.bias", -1, s.hidden},
          {"positions", -1, image_tokens(s) * s.hidden}};
}

std::vector<std::string> patch_problems(const ModelShape& s) {
  std::vector<std::string> found;
  constexpr std::int64_t largest = 16384;
  if (s.image < 1 || s.image > largest) {
    found.push_back("image must be 1 to 16384 pixels a side, got " + std::to_string(s.image));
  }
  if (s.patch < 1 || (s.image >= 1 && s.image % s.patch != 0)) {
    found.push_back("patch must divide image: " + std::to_string(s.image) +
                    " pixels in patches of " + std::to_string(s.patch));
  }
  return found;
}

}  // namespace stepsight
