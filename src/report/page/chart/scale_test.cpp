#include "report/page/chart/scale.h"

#include <gtest/gtest.h>

namespace refrain::report {
namespace {

constexpr double kMiB = 0x1p20, kGiB = 0x1p30;

std::vector<std::string> texts(const std::vector<Bytes>& ticks) {
  std::vector<std::string> texts;
  for (const Bytes tick : ticks) texts.push_back(tick_text(tick));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Scale, SharesOfAStretch) {
  const Scale scale{100, 300};
  EXPECT_EQ(scale.share(100), 0);
  EXPECT_EQ(scale.share(150), 0.25);
  EXPECT_EQ(scale.share(300), 1);
  EXPECT_EQ(scale.share(400), 1.5);
}

TEST(ByteTicks, AreMultiplesOfAPowerOfTwo) {
  EXPECT_EQ(texts(byte_ticks({0, 250 * kMiB}, 4)), (Texts{"0 B", "64 MiB", "128 MiB", "192 MiB"}));
  EXPECT_EQ(texts(byte_ticks({0, 1.2 * kGiB}, 5)),
            (Texts{"0 B", "256 MiB", "512 MiB", "768 MiB", "1 GiB"}));
  EXPECT_EQ(texts(byte_ticks({846.2 * kGiB, 935 * kGiB}, 5)),
            (Texts{"864 GiB", "896 GiB", "928 GiB"}));
}

TEST(ByteTicks, BothEndsOfTheScaleCount) {
  EXPECT_EQ(texts(byte_ticks({64 * kMiB, 256 * kMiB}, 3)),
            (Texts{"64 MiB", "128 MiB", "192 MiB", "256 MiB"}));
  EXPECT_EQ(texts(byte_ticks({64 * kMiB + 1, 256 * kMiB - 1}, 3)), (Texts{"128 MiB", "192 MiB"}));
}

TEST(ByteTicks, NeverFinerThanAByte) {
  EXPECT_EQ(texts(byte_ticks({0, 2}, 8)), (Texts{"0 B", "1 B", "2 B"}));
}

TEST(DecimalTicks, AreOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_EQ(decimal_ticks({0, 31}, 5), (std::vector<double>{0, 10, 20, 30}));
  EXPECT_EQ(decimal_ticks({0, 9}, 5), (std::vector<double>{0, 2, 4, 6, 8}));
  EXPECT_EQ(decimal_ticks({0, 25}, 5), (std::vector<double>{0, 5, 10, 15, 20, 25}));
  EXPECT_EQ(decimal_ticks({0, 0.02}, 2), (std::vector<double>{0, 0.01, 0.02}));
}

TEST(TickText, HasAsFewDecimalsAsItNeeds) {
  EXPECT_EQ(tick_text(Bytes(1023)), "1023 B");
  EXPECT_EQ(tick_text(Bytes(1024)), "1 KiB");
  EXPECT_EQ(tick_text(Bytes(1280)), "1.25 KiB");
  EXPECT_EQ(tick_text(Bytes(1152)), "1.125 KiB");
}

}  // namespace
}  // namespace refrain::report
