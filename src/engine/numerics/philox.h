// Stateless random bits: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
// as easy as 1, 2, 3" (SC 2011), section 4 and table 2, and the dropout decisions made from them.
//
// Counter: words 0 and 1 are (element / 4), words 2 and 3 the key's stream; key: the seed. Element
// e takes word e % 4. A value thus depends on (seed, stream, element) and on nothing else.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"
#include "engine/numerics/dispatch.h"

namespace refrain::engine {

/// Names one stream of random bits: equal keys give equal bits, in any order, on any thread.
struct DropoutKey {
  uint64_t seed = 0;
  uint64_t stream = 0;  // mixes step, micro-batch, block and op
};

inline constexpr uint32_t kPhiloxMultiplier[2] = {0xD2511F53, 0xCD9E8D57};
inline constexpr uint32_t kPhiloxWeyl[2] = {0x9E3779B9, 0xBB67AE85};
inline constexpr int kPhiloxRounds = 10;

/// One block of the generator, as the paper states it.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t a = uint64_t{kPhiloxMultiplier[0]} * counter[0];
    const uint64_t b = uint64_t{kPhiloxMultiplier[1]} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += kPhiloxWeyl[0];
    key[1] += kPhiloxWeyl[1];
  }
  return counter;
}

/// Elements that philox_span makes in one go.
inline constexpr int64_t kPhiloxSpan = 128;

/// bits[i] = the word of element first + i, for kPhiloxSpan elements; `first` is a multiple of 4.
/// The same numbers as philox(), all counters side by side so that the loops vectorise.
inline void philox_span(const DropoutKey& key, uint64_t first, uint32_t* bits) {
  // Words in 64-bit lanes: the low half of a product is the product, its high half a shift away.
  // What then stands above the low 32 bits is never looked at.
  constexpr int kCounters = kPhiloxSpan / 4;
  uint64_t c0[kCounters], c1[kCounters], c2[kCounters], c3[kCounters];
  for (int i = 0; i < kCounters; ++i) {
    c0[i] = first / 4 + i;
    c1[i] = c0[i] >> 32;
    c2[i] = key.stream;
    c3[i] = key.stream >> 32;
  }
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma omp simd
    for (int i = 0; i < kCounters; ++i) {
      const uint64_t a = uint64_t{kPhiloxMultiplier[0]} * static_cast<uint32_t>(c0[i]);
      const uint64_t b = uint64_t{kPhiloxMultiplier[1]} * static_cast<uint32_t>(c2[i]);
      c0[i] = (b >> 32) ^ c1[i] ^ k0;
      c1[i] = b;
      c2[i] = (a >> 32) ^ c3[i] ^ k1;
      c3[i] = a;
    }
    k0 += kPhiloxWeyl[0];
    k1 += kPhiloxWeyl[1];
  }
  for (int i = 0; i < kCounters; ++i) {
    bits[4 * i] = static_cast<uint32_t>(c0[i]);
    bits[4 * i + 1] = static_cast<uint32_t>(c1[i]);
    bits[4 * i + 2] = static_cast<uint32_t>(c2[i]);
    bits[4 * i + 3] = static_cast<uint32_t>(c3[i]);
  }
}

/// Inverted dropout: an element is kept with probability 1 - p and then scaled by 1 / (1 - p).
class Dropout {
 public:
  /// `probability` in [0, 1): of an element to be dropped.
  Dropout(const DropoutKey& key, double probability)
      : key_(key),
        threshold_(static_cast<uint32_t>(probability * 4294967296.0)),
        scale_(1.0 / (1.0 - probability)) {
    RC_CHECK(probability >= 0 && probability < 1, "{}", probability);
  }

  /// Words below this drop their element: floor(p 2^32).
  uint32_t threshold() const { return threshold_; }
  double scale() const { return scale_; }

  /// Calls f(i, factors, n) on consecutive pieces of elements [first, first + count): factors[j] is
  /// 0 or scale() for element first + i + j. T: float or double.
  template <class T, class F>
  void for_each_span(int64_t first, int64_t count, const F& f) const {
    alignas(64) uint32_t bits[kPhiloxSpan];
    alignas(64) T factors[kPhiloxSpan];
    const T scale = static_cast<T>(scale_);
    for (int64_t i = 0; i < count;) {
      const int64_t skip = (first + i) % 4;
      philox_span(key_, static_cast<uint64_t>(first + i - skip), bits);
#pragma omp simd
      for (int64_t j = 0; j < kPhiloxSpan; ++j) factors[j] = bits[j] >= threshold_ ? scale : T(0);
      const int64_t n = std::min(kPhiloxSpan - skip, count - i);
      f(i, factors + skip, n);
      i += n;
    }
  }

  /// out[i] = in[i] * factor of element first + i, in the accumulate type; `out` may be `in`.
  template <class Storage>
  void apply(int64_t first, int64_t count, const Storage* in, Storage* out) const {
    for_each_span<Accumulate<Storage>>(
        first, count, [&](int64_t i, const auto* factors, int64_t n) {
#pragma omp simd
          for (int64_t j = 0; j < n; ++j) {
            out[i + j] = round_to<Storage>(load(in[i + j]) * factors[j]);
          }
        });
  }

 private:
  DropoutKey key_;
  uint32_t threshold_;
  double scale_;
};

/// The plain ATen twin: a tensor of `shape`, dtype float32 or float64, that holds Dropout's factors
/// of elements 0 up to its size, made of integer ops on int64; the very same values.
at::Tensor dropout_factors(const DropoutKey& key, double probability, at::IntArrayRef shape,
                           const at::TensorOptions& options);

}  // namespace refrain::engine
