// exp, the logistic function and the normal distribution as branch-free code that the compiler
// vectorises inside `#pragma omp simd`; the double overloads are the standard library's (float64 is
// for gradient checks). Polynomials are least-maximum fits of our own; what each adds to the error
// stands beside it, the error of the functions in vector_math_test.cpp.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace refrain::engine {

/// e^x within 1.5 ulp on [-87.3, 88.3]; below that 0 from -87.7 on, above it infinity, both a
/// little before float32 ends. NaN stays NaN.
[[gnu::always_inline]] inline float vector_exp(float x) {
  // x = n ln 2 + r: adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
  constexpr float kRound = 12582912.0f;
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // 9 bits: n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kLowest = -88.1f,
                  kHighest = 88.8f;  // n is -127 and 128 there: 2^n is 0, infinity
  x = x < kLowest ? kLowest : x;
  x = x > kHighest ? kHighest : x;
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  // (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2: relative error of e^r 3e-9.
  float p = 1.3814433e-3f;
  p = p * r + 8.3687967e-3f;
  p = p * r + 4.1668396e-2f;
  p = p * r + 1.6666520e-1f;
  p = p * r + 4.9999993e-1f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // The exponent field of 2^n is n + 127.
  constexpr uint32_t kBias = (127u - std::bit_cast<uint32_t>(kRound)) << 23;
  return p * std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + kBias);
}
inline double vector_exp(double x) { return std::exp(x); }

/// 1 / (1 + e^-x) within 2.5 ulp for x >= -87; 0 below -88.4.
[[gnu::always_inline]] inline float vector_sigmoid(float x) {
  return 1.0f / (1.0f + vector_exp(-x));
}
inline double vector_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// The standard normal distribution at one point.
template <class Real>
struct Normal {
  Real density;   // e^(-x^2 / 2) / sqrt(2 pi)
  Real integral;  // of the density, from -infinity to x
};

// 1 / sqrt(2 pi)
inline constexpr double kNormalPeak = std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;

/// Both within 3e-7, absolute. NaN stays NaN.
[[gnu::always_inline]] inline Normal<float> vector_normal(float x) {
  const float a = std::fabs(x);
  const float density = static_cast<float>(kNormalPeak) * vector_exp(-0.5f * x * x);
  // Beyond a, the integral is the density times Mills' ratio, a polynomial in t = 1 / (1 + 0.26 a)
  // (the form of Abramowitz and Stegun 26.2.17): relative error 3e-8 on a <= 14.
  const float t = 1.0f / (1.0f + 0.26f * a);
  float p = 7.6464172e-2f;
  p = p * t - 3.8308403e-1f;
  p = p * t + 6.3039326e-1f;
  p = p * t - 3.7837097e-1f;
  p = p * t + 4.0343523e-1f;
  p = p * t + 1.2790789e-1f;
  p = p * t + 2.5825844e-1f;
  p = p * t + 2.5822471e-1f;
  p = p * t + 2.6008540e-1f;
  const float tail = density * (p * t);
  return {density, x < 0.0f ? tail : 1.0f - tail};
}
inline Normal<double> vector_normal(double x) {
  return {kNormalPeak * std::exp(-0.5 * x * x), 0.5 * std::erfc(x * (-std::numbers::sqrt2 / 2))};
}

}  // namespace refrain::engine
