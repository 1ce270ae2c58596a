// From a tensor's dtype to a C++ type: storage (what lies in memory) and accumulate type (what
// sums and statistics are held in).
#pragma once

#include <ATen/core/Tensor.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/error.h"

namespace refrain::engine {

/// float32 for float32 and bf16 storage, float64 for float64.
template <class Storage>
using Accumulate = std::conditional_t<std::is_same_v<Storage, double>, double, float>;

/// The dtype of statistics, parameter gradients and partial sums beside storage of dtype `storage`.
inline at::ScalarType accumulate_type(at::ScalarType storage) {
  return storage == at::kDouble ? at::kDouble : at::kFloat;
}

/// Calls f.operator()<Storage>() with float, double or at::BFloat16; RC_CHECKs other dtypes.
///     dispatch(x.scalar_type(), [&]<class Storage>() { ... });
template <class F>
void dispatch(at::ScalarType dtype, const F& f) {
  switch (dtype) {
    case at::kFloat:
      return f.template operator()<float>();
    case at::kDouble:
      return f.template operator()<double>();
    case at::kBFloat16:
      return f.template operator()<at::BFloat16>();
    default:
      RC_CHECK(false, "no kernel for dtype {}", c10::toString(dtype));
  }
}

/// Widens a stored value to its accumulate type.
template <class Storage>
[[gnu::always_inline]] inline Accumulate<Storage> load(Storage value) {
  if constexpr (std::is_same_v<Storage, at::BFloat16>) {
    return std::bit_cast<float>(static_cast<uint32_t>(value.x) << 16);
  } else {
    return value;
  }
}

/// Rounds to the storage type, to nearest even; in bf16 without c10's branch, which would keep a
/// loop from being vectorised.
template <class Storage>
[[gnu::always_inline]] inline Storage round_to(Accumulate<Storage> value) {
  if constexpr (std::is_same_v<Storage, at::BFloat16>) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t nearest = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    return at::BFloat16(static_cast<uint16_t>(is_nan ? 0x7FC0u : nearest),
                        at::BFloat16::from_bits());
  } else {
    return value;
  }
}

/// Pointers into contiguous tensors; RC_CHECKs contiguity, and (in LibTorch) the dtype.
template <class T>
const T* const_pointer(const at::Tensor& tensor) {
  RC_CHECK(tensor.is_contiguous());
  return tensor.const_data_ptr<T>();
}
template <class T>
T* pointer(const at::Tensor& tensor) {
  RC_CHECK(tensor.is_contiguous());
  return tensor.mutable_data_ptr<T>();
}

/// A tensor seen as rows of its last dimension.
struct Rows {
  int64_t count, columns;
};
inline Rows rows_of(const at::Tensor& tensor) {
  const int64_t columns = tensor.size(-1);
  return {columns == 0 ? 0 : tensor.numel() / columns, columns};
}

}  // namespace refrain::engine
