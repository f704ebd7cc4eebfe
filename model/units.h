// Strong units: a Quantity is one scalar tagged with the exponents of the three base dimensions
// the project counts in (seconds, bytes, floating-point operations). Adding seconds to bytes does
// not compile (tests/model/units_compile_test.cpp says so), and a ratio of equal dimensions is a
// plain scalar. The scalar is a template parameter so that the very formula that predicts can be
// differentiated by an automatic-differentiation type (Ceres' Jet) when it is fitted.
#pragma once
#include <compare>

namespace stepsight {

template <int Time, int Data, int Work, typename Scalar = double>
struct Quantity {
  Scalar value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Scalar v) : value(v) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity{a.value + b.value};
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity{a.value - b.value};
  }
  friend constexpr Quantity operator*(const Scalar& k, Quantity a) { return Quantity{k * a.value}; }
  friend constexpr Quantity operator*(Quantity a, const Scalar& k) { return Quantity{a.value * k}; }
  friend constexpr Quantity operator/(Quantity a, const Scalar& k) { return Quantity{a.value / k}; }
};

template <int T1, int D1, int W1, int T2, int D2, int W2, typename Scalar>
constexpr auto operator*(Quantity<T1, D1, W1, Scalar> a, Quantity<T2, D2, W2, Scalar> b) {
  if constexpr (T1 + T2 == 0 && D1 + D2 == 0 && W1 + W2 == 0) {
    return a.value * b.value;
  } else {
    return Quantity<T1 + T2, D1 + D2, W1 + W2, Scalar>{a.value * b.value};
  }
}

template <int T1, int D1, int W1, int T2, int D2, int W2, typename Scalar>
constexpr auto operator/(Quantity<T1, D1, W1, Scalar> a, Quantity<T2, D2, W2, Scalar> b) {
  if constexpr (T1 == T2 && D1 == D2 && W1 == W2) {
    return a.value / b.value;
  } else {
    return Quantity<T1 - T2, D1 - D2, W1 - W2, Scalar>{a.value / b.value};
  }
}

template <typename Scalar>
using SecondsOf = Quantity<1, 0, 0, Scalar>;
template <typename Scalar>
using BytesPerSecondOf = Quantity<-1, 1, 0, Scalar>;
template <typename Scalar>
using FlopsPerSecondOf = Quantity<-1, 0, 1, Scalar>;

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;

static_assert(sizeof(Seconds) == sizeof(double));

inline namespace literals {
constexpr Seconds operator""_s(long double v) {
  return Seconds{static_cast<double>(v)};
}
constexpr Seconds operator""_ms(long double v) {
  return Seconds{static_cast<double>(v) * 1e-3};
}
constexpr Seconds operator""_us(long double v) {
  return Seconds{static_cast<double>(v) * 1e-6};
}
constexpr Bytes operator""_B(unsigned long long v) {
  return Bytes{static_cast<double>(v)};
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes{static_cast<double>(v) * 1048576.0};
}
constexpr Bytes operator""_GB(long double v) {
  return Bytes{static_cast<double>(v) * 1e9};
}
constexpr BytesPerSecond operator""_GBps(long double v) {
  return BytesPerSecond{static_cast<double>(v) * 1e9};
}
constexpr FlopsPerSecond operator""_TFLOPS(long double v) {
  return FlopsPerSecond{static_cast<double>(v) * 1e12};
}
}  // namespace literals

}  // namespace stepsight
