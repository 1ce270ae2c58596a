#include "engine/numerics/vector_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace refrain::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Applies a function in a loop that the compiler vectorises, as the kernels do.
template <class F>
std::vector<float> map(const std::vector<float>& x, const F& f) {
  std::vector<float> y(x.size());
  const float* in = x.data();
  float* out = y.data();
  const auto n = static_cast<int64_t>(x.size());
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]);
  return y;
}

/// Evenly spread and, near 0, evenly spread on a logarithmic scale, both signs.
std::vector<float> arguments(float low, float high) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> even(low, high), exponent(-30, 0);
  std::vector<float> x;
  for (int i = 0; i < 200000; ++i) x.push_back(even(random));
  for (int i = 0; i < 100000; ++i) {
    const float tiny = std::exp2(exponent(random));
    x.push_back(i % 2 == 0 ? tiny : -tiny);
  }
  return x;
}

/// The largest error in units in the last place of the exact result (at least of the smallest
/// normal number).
template <class F, class Exact>
double largest_ulp(const std::vector<float>& x, const F& f, const Exact& exact) {
  const std::vector<float> y = map(x, f);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double truth = exact(static_cast<double>(x[i]));
    const float magnitude =
        std::max(std::fabs(static_cast<float>(truth)), std::numeric_limits<float>::min());
    const double ulp = std::nextafter(magnitude, kInfinity) - magnitude;
    worst = std::max(worst, std::fabs(y[i] - truth) / ulp);
  }
  return worst;
}

const auto kExp = [](float x) { return vector_exp(x); };
const auto kSigmoid = [](float x) { return vector_sigmoid(x); };
const auto kDensity = [](float x) { return vector_normal(x).density; };
const auto kIntegral = [](float x) { return vector_normal(x).integral; };

TEST(VectorMath, ExpIsWithinOneAndAHalfUlp) {
  EXPECT_LE(largest_ulp(arguments(-87.3f, 88.3f), kExp, [](double x) { return std::exp(x); }), 1.5);
}

TEST(VectorMath, SigmoidIsWithinTwoAndAHalfUlp) {
  const auto exact = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LE(largest_ulp(arguments(-87, 87), kSigmoid, exact), 2.5);
}

TEST(VectorMath, NormalIsWithinItsAbsoluteError) {
  const std::vector<float> x = arguments(-15, 15);
  const std::vector<float> density = map(x, kDensity), integral = map(x, kIntegral);
  double density_error = 0, integral_error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const Normal<double> exact = vector_normal(static_cast<double>(x[i]));
    density_error = std::max(density_error, std::fabs(density[i] - exact.density));
    integral_error = std::max(integral_error, std::fabs(integral[i] - exact.integral));
  }
  EXPECT_LE(density_error, 3e-7);
  EXPECT_LE(integral_error, 3e-7);
}

TEST(VectorMath, NormalInDoubleIsTheDistribution) {
  EXPECT_NEAR(vector_normal(1.0).integral, 0.84134474606854293, 1e-15);  // 1 sigma
  EXPECT_NEAR(vector_normal(-2.0).integral, 0.022750131948179195, 1e-16);
  EXPECT_NEAR(vector_normal(0.0).density, 0.3989422804014327, 1e-15);
}

TEST(VectorMath, ExpAtTheEdgesOfItsRange) {
  EXPECT_EQ(map({-kInfinity, -200, -88, 0}, kExp), (std::vector<float>{0, 0, 0, 1}));
  EXPECT_EQ(map({89, 200, kInfinity}, kExp), (std::vector<float>{kInfinity, kInfinity, kInfinity}));
  EXPECT_LT(map({88.37f}, kExp)[0], kInfinity);
}

TEST(VectorMath, LimitsAndNan) {
  EXPECT_EQ(map({-kInfinity, -200, 0, 200, kInfinity}, kSigmoid),
            (std::vector<float>{0, 0, 0.5f, 1, 1}));
  EXPECT_EQ(map({-kInfinity, -50, 50, kInfinity}, kIntegral), (std::vector<float>{0, 0, 1, 1}));
  EXPECT_EQ(map({-kInfinity, -50, 50, kInfinity}, kDensity), (std::vector<float>{0, 0, 0, 0}));
  for (const float y : {map({kNan}, kExp)[0], map({kNan}, kSigmoid)[0], map({kNan}, kDensity)[0],
                        map({kNan}, kIntegral)[0]}) {
    EXPECT_TRUE(std::isnan(y));
  }
}

TEST(VectorMath, VectorBodyAndScalarTailAgreeBitwise) {
  // Element i stands in the vector body of a long loop and in the tail of a short one.
  const std::vector<float> x = arguments(-6, 6);
  const auto expect_same = [&](const auto& f) {
    const std::vector<float> whole = map(x, f);
    for (size_t i = 0; i < 5000; ++i) EXPECT_EQ(map({x[i]}, f)[0], whole[i]) << x[i];
  };
  expect_same(kExp);
  expect_same(kSigmoid);
  expect_same(kDensity);
  expect_same(kIntegral);
}

}  // namespace
}  // namespace refrain::engine
