#include "config/scan.h"

#include <gtest/gtest.h>

#include <cmath>

namespace refrain::config {
namespace {

TEST(ParseWhole, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_whole("42"), 42);
  EXPECT_EQ(parse_whole("-7"), -7);
  for (const char* text : {"", " 42", "42 ", "4.0", "4x", "+4", "0x10", "1e3", "--4"}) {
    EXPECT_EQ(parse_whole(text), std::nullopt) << text;
  }
}

TEST(ParseWhole, StopsAtTheEndsOf64Bits) {
  EXPECT_EQ(parse_whole("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_whole("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_whole("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_unsigned("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_unsigned("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_unsigned("-1"), std::nullopt);
}

TEST(ParseReal, ReadsDecimalsAndExponentsAndLeavesNanToTheRules) {
  EXPECT_EQ(parse_real("0.1"), 0.1);
  EXPECT_EQ(parse_real("3e-4"), 3e-4);
  EXPECT_TRUE(std::isnan(parse_real("nan").value()));
  for (const char* text : {"", "0,1", "1e999", "x", "1 "}) {
    EXPECT_EQ(parse_real(text), std::nullopt) << text;
  }
}

TEST(Split, TrimsPiecesAndKeepsEmptyOnes) {
  EXPECT_EQ(split("a, b ,c", ','), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(split("a,,", ','), (std::vector<std::string>{"a", "", ""}));
  EXPECT_EQ(joined({"a", "b"}), "a, b");
}

TEST(InQuotes, EscapesWhatATerminalWouldActOnAndCutsLongText) {
  EXPECT_EQ(in_quotes("plain text"), "'plain text'");
  EXPECT_EQ(in_quotes("\x1b[31m\xff\n"), "'\\x1b[31m\\xff\\x0a'");
  EXPECT_EQ(in_quotes(std::string(120, 'a')), "'" + std::string(120, 'a') + "'");
  EXPECT_EQ(in_quotes(std::string(121, 'a')), "'" + std::string(120, 'a') + "...'");
}

TEST(ParseBytes, ReadsBinaryAndDecimalUnitsAndPlainBytes) {
  EXPECT_EQ(parse_bytes("700MiB"), Bytes(int64_t{700} << 20));
  EXPECT_EQ(parse_bytes(" 1.5 GiB "), Bytes(int64_t{3} << 29));
  EXPECT_EQ(parse_bytes("80GB"), Bytes(80'000'000'000));
  EXPECT_EQ(parse_bytes("123456"), Bytes(123456));
  EXPECT_EQ(parse_bytes("7 B"), Bytes(7));
}

TEST(ParseBytes, WholeNumbersAreExactToTheLargest) {
  EXPECT_EQ(parse_bytes("9007199254740993"), Bytes((int64_t{1} << 53) + 1));
  EXPECT_EQ(parse_bytes("9007199254740993 B"), Bytes((int64_t{1} << 53) + 1));
  EXPECT_EQ(parse_bytes("4611686018427387kB"), Bytes(4'611'686'018'427'387'000));
  EXPECT_EQ(parse_bytes("4611686018427387904"), Bytes(int64_t{1} << 62));
  EXPECT_EQ(parse_bytes("4611686018427387905"), std::nullopt);
  EXPECT_EQ(parse_bytes("4194304TiB"), Bytes(int64_t{1} << 62));
  EXPECT_EQ(parse_bytes("4194305TiB"), std::nullopt);
}

TEST(ParseBytes, RefusesWhatIsNoAmountOfMemory) {
  for (const char* text :
       {"", "MiB", "-1GiB", "0", "0.5B", "nan", "inf GiB", "1e30GiB", "12 XiB", "1 2", "0x10"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

}  // namespace
}  // namespace refrain::config
