#include "base/quantity.h"

#include <gtest/gtest.h>

namespace refrain {
namespace {

TEST(Bytes, AddsSubtractsScalesAndCompares) {
  EXPECT_EQ((Bytes(5) + Bytes(3) - Bytes(1)) * 2, Bytes(14));
  EXPECT_EQ(3 * Bytes(4), Bytes(12));
  EXPECT_LT(Bytes(1), Bytes(2));
  EXPECT_EQ(Bytes().count(), 0);
}

TEST(Bytes, ChangesTheUnitAtEachPowerOf1024) {
  EXPECT_EQ(to_text(Bytes(0)), "0 B");
  EXPECT_EQ(to_text(Bytes(1023)), "1023 B");
  EXPECT_EQ(to_text(Bytes(1024)), "1.00 KiB");
  EXPECT_EQ(to_text(Bytes(1536)), "1.50 KiB");
  EXPECT_EQ(to_text(Bytes(int64_t{1} << 30)), "1.00 GiB");
  EXPECT_EQ(to_text(Bytes(-2048)), "-2.00 KiB");
  EXPECT_EQ(to_text(Bytes(INT64_MAX)), "8192.00 PiB");
}

}  // namespace
}  // namespace refrain
