// What PYTORCH_ALLOC_CONF says to PyTorch's caching allocator, and the sizes that follow from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/finding.h"
#include "base/quantity.h"

namespace refrain::allocator {

inline constexpr Bytes kMiB{int64_t{1} << 20};

// The sizes nobody can set: c10/core/AllocatorConfig.h (kMinBlockSize, kSmallSize, kSmallBuffer,
// kMinLargeAlloc, kRoundLarge).
inline constexpr Bytes kBlockStep{512};           // a block's size is a multiple of it
inline constexpr Bytes kSmallLimit = kMiB;        // the largest block of the small pool
inline constexpr Bytes kSmallSegment = kMiB * 2;  // what the small pool asks the driver for
inline constexpr Bytes kPackedLimit = kMiB * 10;  // blocks below it share a large segment
inline constexpr Bytes kSegmentStep = kMiB * 2;   // other segments are multiples of it

/// Requests of 1 EiB and more are refused unseen (`NativeCachingAllocator::allocate` of
/// c10/cuda/CUDACachingAllocator.cpp).
inline constexpr Bytes kRefused{int64_t{1} << 60};

/// The options that decide about bytes, with PyTorch's defaults (c10/core/AllocatorConfig.h).
struct Settings {
  bool expandable_segments = false;
  Bytes large_segment = kMiB * 20;  // large_segment_size_mb
  /// max_split_size_mb: blocks of this size and more are oversize, that is never split. Nothing:
  /// every block may be split.
  std::optional<Bytes> max_split;
  /// max_non_split_rounding_mb: an oversize block serves requests that are less than this smaller.
  Bytes max_non_split_rounding = kMiB * 20;
  /// Share of the process's limit above which cached blocks are given back by age; 0: never.
  double garbage_collection_threshold = 0;
  /// roundup_power2_divisions: into how many steps [2^(20+i), 2^(21+i)) bytes is divided; the first
  /// holds for all smaller sizes too, the last for all larger. 0 and 1: steps of 512 B.
  std::array<int64_t, 16> roundup_divisions{};
  /// per_process_memory_fraction: share of the device's memory; 1: no limit of the process's own.
  double process_fraction = 1;
};

/// Reads the value of PYTORCH_ALLOC_CONF, or of PYTORCH_CUDA_ALLOC_CONF, as PyTorch 2.14 does
/// (`parseArgs` of c10/core/AllocatorConfig.cpp and c10/cuda/CUDAAllocatorConfig.cpp): options
/// "name:value" between commas, white space ignored, the last of a name counts. Every option of
/// that release is known and its value checked, also of those without a say in device bytes. Where
/// PyTorch would refuse to start there are errors, and also for negative sizes, which it takes for
/// huge ones; notes say what is accepted and does nothing.
Checked<Settings> parse_settings(std::string_view text);

/// The least size of a block for `requested` > 0 bytes: the next multiple of 512 B or, above 512 B
/// times the divisions set for its size, the next of that many equal steps between two powers of
/// two (`round_size` and `roundup_power2_next_division` of c10/cuda/CUDACachingAllocator.cpp).
/// What is refused stays as it is.
Bytes block_bytes(Bytes requested, const Settings& settings);

/// What the driver is asked for where no cached block serves one of `block` bytes
/// (`get_allocation_size` of c10/cuda/CUDACachingAllocator.cpp): 2 MiB up to 1 MiB, a large segment
/// below 10 MiB, otherwise the next multiple of 2 MiB. What is refused stays as it is.
Bytes segment_bytes(Bytes block, const Settings& settings);

}  // namespace refrain::allocator
