// Numbers with a unit: Bytes and Flops cannot be mixed up or added to each other.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace refrain {

/// A count of one unit. Explicit to build, plain to add, compare and scale by a number.
template <class Unit, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep count) : count_(count) {}

  constexpr Rep count() const { return count_; }

  constexpr Quantity& operator+=(Quantity other) { return count_ += other.count_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return count_ -= other.count_, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, Rep n) { return Quantity(a.count_ * n); }
  friend constexpr Quantity operator*(Rep n, Quantity a) { return a * n; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  Rep count_ = 0;
};

using Bytes = Quantity<struct BytesUnit, int64_t>;
using Flops = Quantity<struct FlopsUnit, double>;  // a 405B model's step exceeds int64

/// "1.18 GiB", "640 B": two decimals, binary units, for people; `count()` is for machines.
std::string to_text(Bytes bytes);

}  // namespace refrain
