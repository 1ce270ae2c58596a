// Whose judgement is asked for: a Megatron-Core release's, Megatron-Bridge's, or Refrain's own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace refrain::config {

/// The releases in their order; Bridge and Refrain follow Megatron-Core's main, so they come last.
enum class Dialect : uint8_t {
  kMcore_0_12_3,
  kMcore_0_13_1,
  kMcore_0_14_0,
  kMcore_0_15_3,
  kMcore_0_16_1,
  kMcore_0_17_1,
  kMcore_0_18_2,
  kMcore_0_19_2,
  kBridge,
  kRefrain,
};
const std::vector<Dialect>& all_dialects();

/// "mcore-0.19.2", "bridge", "refrain".
std::string_view to_text(Dialect dialect);
/// Reads what to_text writes; a finding `check.unknown-dialect` names the nearest.
Checked<Dialect> parse_dialect(std::string_view text);

inline bool is_mcore(Dialect dialect) { return dialect < Dialect::kBridge; }

/// Some of the dialects.
class DialectSet {
 public:
  constexpr DialectSet() = default;
  constexpr explicit DialectSet(Dialect only) : bits_(bit(only)) {}

  /// From `first` on, in the order of the enumeration, to `last`.
  static constexpr DialectSet range(Dialect first, Dialect last) {
    DialectSet set;
    for (int d = static_cast<int>(first); d <= static_cast<int>(last); ++d) set.bits_ |= 1u << d;
    return set;
  }

  constexpr bool has(Dialect dialect) const { return (bits_ & bit(dialect)) != 0; }
  constexpr DialectSet operator|(DialectSet other) const { return DialectSet(bits_ | other.bits_); }
  constexpr DialectSet operator-(DialectSet other) const {
    return DialectSet(bits_ & ~other.bits_);
  }
  constexpr bool operator==(const DialectSet&) const = default;

 private:
  constexpr explicit DialectSet(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(Dialect dialect) { return 1u << static_cast<int>(dialect); }

  uint32_t bits_ = 0;
};

inline constexpr DialectSet kEverywhere =
    DialectSet::range(Dialect::kMcore_0_12_3, Dialect::kRefrain);
inline constexpr DialectSet kMcore =
    DialectSet::range(Dialect::kMcore_0_12_3, Dialect::kMcore_0_19_2);
/// That release and all that follow it, Bridge and Refrain included.
constexpr DialectSet since(Dialect first) { return DialectSet::range(first, Dialect::kRefrain); }
/// Releases up to that one.
constexpr DialectSet until(Dialect last) { return DialectSet::range(Dialect::kMcore_0_12_3, last); }

/// "mcore-0.12.3 to mcore-0.14.0, refrain".
std::string to_text(DialectSet dialects);

}  // namespace refrain::config
