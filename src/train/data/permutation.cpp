#include "train/data/permutation.h"

#include <utility>

#include "base/error.h"

namespace refrain::train {

uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

Permutation::Permutation(int64_t size, uint64_t key) : size_(size), key_(key) {
  RC_CHECK(size >= 1 && size <= int64_t{1} << 62, "{}", size);
  while (uint64_t{1} << (2 * half_bits_) < static_cast<uint64_t>(size)) ++half_bits_;
}

uint64_t Permutation::encrypt(uint64_t value) const {
  constexpr uint64_t kRounds = 8;                   // twice what a strong round function needs
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: round keys far apart
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_, right = value & mask;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    const uint64_t mixed = mix(mix(right + round * kGolden) ^ key_);
    left = (left ^ mixed) & mask;
    std::swap(left, right);
  }
  return left << half_bits_ | right;
}

int64_t Permutation::operator()(int64_t index) const {
  RC_CHECK(index >= 0 && index < size_, "{} of {}", index, size_);
  auto value = static_cast<uint64_t>(index);
  do {
    value = encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace refrain::train
