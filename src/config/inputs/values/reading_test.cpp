#include "config/inputs/values/reading.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

TEST(FirstBadByte, KnowsUtf8) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x7f",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(first_bad_byte(text), std::nullopt) << text;
  }
  EXPECT_EQ(first_bad_byte(std::string_view("a\0b", 3)), 1);
  EXPECT_EQ(first_bad_byte("ab\xff"), 2);
  EXPECT_EQ(first_bad_byte("\x80"), 0);
  EXPECT_EQ(first_bad_byte("\xc0\xaf"), 0);          // overlong
  EXPECT_EQ(first_bad_byte("\xe0\x80\xaf"), 0);      // overlong
  EXPECT_EQ(first_bad_byte("\xed\xa0\x80"), 0);      // a surrogate
  EXPECT_EQ(first_bad_byte("\xf4\x90\x80\x80"), 0);  // beyond 10FFFF
  EXPECT_EQ(first_bad_byte("a\xe2\x82"), 1);         // cut short
}

}  // namespace
}  // namespace refrain::config
