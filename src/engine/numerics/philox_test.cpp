#include "engine/numerics/philox.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/numerics/test_tensors.h"

namespace refrain::engine {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers that the paper's authors publish with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Words of one element, from the definition.
uint32_t word_of(const DropoutKey& key, uint64_t element) {
  const uint64_t index = element / 4;
  const Words words =
      philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
              static_cast<uint32_t>(key.stream), static_cast<uint32_t>(key.stream >> 32)},
             {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
  return words[element % 4];
}

constexpr DropoutKey kKey = {.seed = 0x0123456789abcdef, .stream = 0xfedcba9876543210};

TEST(Philox, SpanIsTheDefinitionElementByElement) {
  // The second span crosses from counter word 0 into word 1.
  for (const uint64_t first : {uint64_t{0}, (uint64_t{1} << 34) - 8, uint64_t{4} * 1234567}) {
    uint32_t bits[kPhiloxSpan];
    philox_span(kKey, first, bits);
    for (int64_t i = 0; i < kPhiloxSpan; ++i) EXPECT_EQ(bits[i], word_of(kKey, first + i));
  }
}

std::vector<float> factors_of(const Dropout& dropout, int64_t first, int64_t count) {
  std::vector<float> all(count, -1);
  dropout.for_each_span<float>(first, count, [&](int64_t i, const float* factors, int64_t n) {
    std::copy(factors, factors + n, all.begin() + i);
  });
  return all;
}

TEST(Dropout, KeepsWhereTheWordReachesTheThreshold) {
  const Dropout dropout(kKey, 0.25);
  EXPECT_EQ(dropout.threshold(), 0x40000000u);
  const std::vector<float> factors = factors_of(dropout, 0, 1000);
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(factors[i], word_of(kKey, i) >= 0x40000000u ? 1.0f / 0.75f : 0.0f);
  }
}

TEST(Dropout, DecisionsDoNotDependOnHowElementsAreCut) {
  const Dropout dropout(kKey, 0.1);
  const std::vector<float> whole = factors_of(dropout, 0, 700);
  for (const int64_t first : {0, 1, 2, 3, 5, 127, 128, 130}) {
    for (const int64_t count : {1, 2, 3, 64, 125, 126, 127, 128, 129, 300}) {
      const std::vector<float> part = factors_of(dropout, first, count);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first))
          << first << " + " << count;
    }
  }
}

TEST(Dropout, ProbabilityZeroKeepsEverything) {
  const std::vector<float> factors = factors_of(Dropout(kKey, 0), 0, 500);
  EXPECT_EQ(factors, std::vector<float>(500, 1.0f));
}

TEST(Dropout, RefusesAProbabilityOutsideItsRange) {
  EXPECT_THROW(Dropout(kKey, 1.0), Bug);
  EXPECT_THROW(Dropout(kKey, -0.1), Bug);
}

TEST(Dropout, DropsTheShareItPromises) {
  constexpr int64_t kCount = 1 << 20;
  for (const double p : {0.1, 0.5, 0.9}) {
    const std::vector<float> factors = factors_of(Dropout(kKey, p), 0, kCount);
    const auto dropped = static_cast<double>(std::count(factors.begin(), factors.end(), 0.0f));
    const double deviation = std::sqrt(p * (1 - p) * kCount);
    EXPECT_NEAR(dropped, p * kCount, 5 * deviation);
  }
}

TEST(Dropout, SeedsAndStreamsGiveOtherDecisions) {
  const auto decisions = [](DropoutKey key) { return factors_of(Dropout(key, 0.5), 0, 256); };
  const std::vector<float> base = decisions({.seed = 1, .stream = 1});
  EXPECT_NE(decisions({.seed = 2, .stream = 1}), base);
  EXPECT_NE(decisions({.seed = 1 + (uint64_t{1} << 32), .stream = 1}), base);
  EXPECT_NE(decisions({.seed = 1, .stream = 2}), base);
  EXPECT_NE(decisions({.seed = 1, .stream = 1 + (uint64_t{1} << 32)}), base);
}

TEST(Dropout, PlainTwinGivesTheSameBits) {
  for (const double p : {0.0, 0.1, 0.5}) {
    for (const int64_t n : {1, 3, 4, 129, 1000}) {
      const at::Tensor plain = dropout_factors(kKey, p, {n}, at::kFloat);
      const std::vector<float> fused = factors_of(Dropout(kKey, p), 0, n);
      EXPECT_EQ(std::memcmp(plain.const_data_ptr(), fused.data(), n * sizeof(float)), 0)
          << p << ", " << n;
    }
  }
  const at::Tensor wide = dropout_factors(kKey, 0.1, {2, 3, 5}, at::kDouble);
  EXPECT_EQ(wide.sizes(), (at::IntArrayRef{2, 3, 5}));
  EXPECT_EQ(wide.max().item<double>(), 1 / 0.9);
}

}  // namespace
}  // namespace refrain::engine
