#include "config/inputs/trees/yaml_scalar.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

/// The value as JSON with the rule of its remark, "8 number-not-meant", or "too large".
std::string typed(const std::string& text) {
  const PlainScalar plain = plain_scalar(text);
  if (!plain.fits) return "too large";
  return plain.value.dump() + (plain.remark ? " " + std::string(plain.remark->rule) : "");
}

TEST(PlainScalar, YesAndNoAreTrueAndFalse) {
  for (const char* text : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}) {
    EXPECT_EQ(typed(text), "true") << text;
  }
  for (const char* text : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}) {
    EXPECT_EQ(typed(text), "false") << text;
  }
  for (const char* text : {"y", "n", "tRue", "yEs", "t"}) {
    EXPECT_EQ(typed(text), Value(text).dump()) << text;
  }
}

TEST(PlainScalar, WholeNumbersAreDecimalHexadecimalBinaryOrOctal) {
  EXPECT_EQ(typed("0"), "0");
  EXPECT_EQ(typed("-3"), "-3");
  EXPECT_EQ(typed("+3"), "3");
  EXPECT_EQ(typed("1_000"), "1000");
  EXPECT_EQ(typed("0x1F"), "31");
  EXPECT_EQ(typed("-0x1f"), "-31");
  EXPECT_EQ(typed("0b101"), "5");
  EXPECT_EQ(typed("007"), "7");
  EXPECT_EQ(typed("0_"), "0");
  EXPECT_EQ(typed("010"), "8 number-not-meant");
  EXPECT_EQ(typed("-010"), "-8 number-not-meant");
  EXPECT_EQ(typed("1:30"), "90 number-not-meant");
  EXPECT_EQ(typed("1:00:00"), "3600 number-not-meant");
}

TEST(PlainScalar, RealNumbersHaveAPointOrAnExponent) {
  EXPECT_EQ(typed("1.5"), "1.5");
  EXPECT_EQ(typed("1."), "1.0");
  EXPECT_EQ(typed(".5"), "0.5");
  EXPECT_EQ(typed("1e3"), "1000.0");
  EXPECT_EQ(typed("-1.5E-3"), "-0.0015");
  EXPECT_EQ(typed("1_0.5"), "10.5");
  EXPECT_EQ(typed("3e-5"), "3e-05");
  EXPECT_EQ(typed(".5e-1"), "0.05");
}

TEST(PlainScalar, WhatIsNoNumberThereIsText) {
  for (const char* text :
       {"-.5",  ".5e1", ".",   "._",  "1e",        "e5",       "1.5.2", "0x",   "0xg",
        "0b",   "1:60", "1:",  ":1",  "1:1:",      "_1",       "+",     "-",    "",
        ".nan", ".inf", "1 2", "--1", "core_attn", "null_ish", "<<",    "1e3.5"}) {
    EXPECT_EQ(typed(text), Value(text).dump()) << text;
  }
}

TEST(PlainScalar, TextThatIsMeantOtherwiseIsRemarked) {
  EXPECT_EQ(typed("None"), "\"None\" text-not-meant");
  EXPECT_EQ(typed("0o17"), "\"0o17\" text-not-meant");
  EXPECT_EQ(typed("08"), "\"08\" text-not-meant");
  EXPECT_EQ(typed("none"), "\"none\"");
}

TEST(PlainScalar, NumbersStopAtTheEndsOf64Bits) {
  EXPECT_EQ(typed("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(typed("9223372036854775808"), "too large");
  EXPECT_EQ(typed("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(typed("-9223372036854775809"), "too large");
  EXPECT_EQ(typed("0xffffffffffffffff"), "too large");
  EXPECT_EQ(typed("1e308"), "1e+308");
  EXPECT_EQ(typed("1e999"), "too large");
  EXPECT_EQ(typed(std::string(1 << 20, '9')), "too large");
  EXPECT_EQ(typed(std::string(1 << 20, ':')).size(), (1u << 20) + 2);
  const std::string many = "9223372036854775807:59";
  EXPECT_EQ(typed(many), Value(many).dump());
}

}  // namespace
}  // namespace refrain::config
