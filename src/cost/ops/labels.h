// Megatron-Core's recompute labels, as far as they name ops of a layer.
//
// Source: Megatron-Core, core/transformer/transformer_config.py (recompute_modules).
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

namespace refrain::cost {

enum class Label : uint8_t {
  kCoreAttn,
  kMlp,
  kMoe,
  kSharedExperts,
  kLayernorm,
  kMlaUpProj,
  kMoeAct,
  kGdnNormOut,
};

class LabelSet {
 public:
  constexpr LabelSet() = default;
  constexpr LabelSet(std::initializer_list<Label> labels) {
    for (const Label label : labels) insert(label);
  }

  constexpr void insert(Label label) { bits_ |= bit(label); }
  constexpr bool contains(Label label) const { return (bits_ & bit(label)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int count() const { return std::popcount(bits_); }
  friend constexpr LabelSet operator&(LabelSet a, LabelSet b) {
    return LabelSet(a.bits_ & b.bits_);
  }
  friend constexpr LabelSet operator|(LabelSet a, LabelSet b) {
    return LabelSet(a.bits_ | b.bits_);
  }
  friend constexpr bool operator==(LabelSet, LabelSet) = default;

 private:
  constexpr explicit LabelSet(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(Label label) { return 1u << static_cast<uint32_t>(label); }

  uint32_t bits_ = 0;
};

/// How Megatron-Core recomputes what a label names.
struct LabelRow {
  Label label;
  std::string_view name;
  /// The region's output is dropped after its consumer has run, and is restored before the
  /// consumer's backward (core/tensor_parallel/random.py, CheckpointWithoutOutput). Else the region
  /// is an ordinary checkpoint, which Megatron-Core skips in a layer that a CUDA graph captures.
  bool discards_output;
};

std::span<const LabelRow> label_rows();
std::optional<Label> label_named(std::string_view name);

/// The labels whose regions keep their output.
LabelSet plain_labels();

}  // namespace refrain::cost
