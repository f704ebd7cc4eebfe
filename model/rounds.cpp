#include "model/rounds.h"

#include <cmath>
#include <variant>

namespace stepsight {

namespace {

double tiles(double size, double edge) {
  return std::ceil(size / edge);
}

struct Count {
  int multiprocessors;

  double operator()(const Gemm& g) const {
    return tiles(static_cast<double>(g.m), 128) * tiles(static_cast<double>(g.n), 256) *
           static_cast<double>(g.batch) / multiprocessors;
  }
  double operator()(const Attention& a) const {
    return tiles(static_cast<double>(a.seq), 128) * static_cast<double>(a.batch * a.heads) /
           multiprocessors;
  }
  double operator()(const Convolution& c) const {
    return (*this)(implicit_gemm(c, multiprocessors));
  }
  double operator()(const Pass&) const { return 0; }
};

}  // namespace

double rounds_of(const Work& work, int multiprocessors) {
  return std::visit(Count{multiprocessors}, work);
}

}  // namespace stepsight
