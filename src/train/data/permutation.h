// Shuffling without a list: where an element goes is computed, not stored.
#pragma once

#include <cstdint>

namespace refrain::train {

/// Mixes a number into 64 well-spread bits: the output function of SplitMix64 (Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", 2014, with Stafford's variant 13). A
/// bijection.
uint64_t mix(uint64_t value);

/// A permutation of [0, size) chosen by a key; the same on every machine. A Feistel network over
/// the next power of four, applied again while the result is outside (Black and Rogaway, "Ciphers
/// with arbitrary finite domains", 2002, section 5): ends, for the orbit comes back to its start,
/// and takes fewer than four rounds on average. For shuffling, not for secrets.
class Permutation {
 public:
  /// `size` in [1, 2^62].
  Permutation(int64_t size, uint64_t key);

  int64_t size() const { return size_; }
  /// Where `index`, in [0, size), goes.
  int64_t operator()(int64_t index) const;

 private:
  uint64_t encrypt(uint64_t value) const;

  int64_t size_;
  uint64_t key_;
  int half_bits_ = 1;
};

}  // namespace refrain::train
