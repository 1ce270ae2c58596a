// The plain twin of philox_span: the same words by ATen's integer ops, on any device.
#include "engine/numerics/philox.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>

#include <utility>

namespace refrain::engine {
namespace {

// The low 32 bits of an int64.
constexpr int64_t kLow = 0xFFFFFFFF;

/// High and low 32 bits of the 64-bit product of 32-bit values held in int64, whose own product
/// would overflow: by 16-bit halves of the multiplier.
std::pair<at::Tensor, at::Tensor> wide_product(const at::Tensor& a, int64_t multiplier) {
  const at::Tensor low = a * (multiplier & 0xFFFF);
  const at::Tensor high = a * (multiplier >> 16) + low.bitwise_right_shift(16);
  return {high.bitwise_right_shift(16),
          high.bitwise_and(0xFFFF).bitwise_left_shift(16).bitwise_or(low.bitwise_and(0xFFFF))};
}

/// philox_span's words of elements [0, n), as int64 [n].
at::Tensor plain_words(const DropoutKey& key, int64_t n, at::Device device) {
  const at::Tensor index = at::arange((n + 3) / 4, at::TensorOptions(device).dtype(at::kLong));
  const auto stream = static_cast<int64_t>(key.stream & kLow);
  at::Tensor c0 = index.bitwise_and(kLow), c1 = index.bitwise_right_shift(32);
  at::Tensor c2 = at::full_like(index, stream);
  at::Tensor c3 = at::full_like(index, static_cast<int64_t>(key.stream >> 32));
  int64_t k0 = static_cast<int64_t>(key.seed & kLow), k1 = static_cast<int64_t>(key.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const auto [a_high, a_low] = wide_product(c0, kPhiloxMultiplier[0]);
    const auto [b_high, b_low] = wide_product(c2, kPhiloxMultiplier[1]);
    c0 = b_high.bitwise_xor(c1).bitwise_xor(k0);
    c1 = b_low;
    c2 = a_high.bitwise_xor(c3).bitwise_xor(k1);
    c3 = a_low;
    k0 = (k0 + kPhiloxWeyl[0]) & kLow;
    k1 = (k1 + kPhiloxWeyl[1]) & kLow;
  }
  return at::stack({c0, c1, c2, c3}, -1).flatten().narrow(0, 0, n);
}

}  // namespace

at::Tensor dropout_factors(const DropoutKey& key, double probability, at::IntArrayRef shape,
                           const at::TensorOptions& options) {
  const Dropout dropout(key, probability);
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  const at::Tensor kept =
      plain_words(key, n, options.device()).ge(static_cast<int64_t>(dropout.threshold()));
  return (kept.to(options.dtype()) * dropout.scale()).view(shape);
}

}  // namespace refrain::engine
