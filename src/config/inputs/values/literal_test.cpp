#include "config/inputs/values/literal.h"

#include <gtest/gtest.h>

#include "config/inputs/testing/outcome.h"

namespace refrain::config {
namespace {

using nlohmann::json;

std::string literal(std::string_view text) { return outcome(read_literal(text, {"t", text})); }

TEST(ReadLiteral, NullAndTruthAreInAnyCase) {
  for (const char* text : {"null", "NULL", "Null", " null "}) {
    EXPECT_EQ(literal(text), "null") << text;
  }
  for (const char* text : {"true", "True", "TRUE", "tRue"}) EXPECT_EQ(literal(text), "true");
  for (const char* text : {"false", "False", "FALSE"}) EXPECT_EQ(literal(text), "false");
  EXPECT_EQ(literal("none"), "\"none\"");  // an implementation of CUDA graphs
  EXPECT_EQ(literal("NONE"), "\"NONE\"");
  EXPECT_EQ(literal("yes"), "\"yes\"");
  EXPECT_EQ(literal("'null'"), "\"null\"");
}

TEST(ReadLiteral, PythonsNoneIsTextWithANote) {
  const auto notes = [](std::string_view text) {
    return rules_of(read_literal(text, {"t", text}).findings);
  };
  EXPECT_EQ(literal("None"), "\"None\"");
  EXPECT_EQ(literal("[None,a,None]"), R"(["None","a","None"])");
  EXPECT_EQ(notes("None"), "t.text-not-meant");
  EXPECT_EQ(notes("[None,a,None]"), "t.text-not-meant");
  EXPECT_EQ(notes("'None'"), "");
  EXPECT_EQ(notes("none"), "");
}

TEST(ReadLiteral, NumbersAreHydras) {
  EXPECT_EQ(literal("-3"), "-3");
  EXPECT_EQ(literal("+3"), "3");
  EXPECT_EQ(literal("1_000"), "1000");
  EXPECT_EQ(literal("1e-3"), "0.001");
  EXPECT_EQ(literal("1."), "1.0");
  EXPECT_EQ(literal("-.5"), "-0.5");
  for (const char* text : {"007", "1_", "_1", "1__0", "0x10", "-", "+", ".", "e5", "1e", "1e+",
                           "nan", "inf", "1.2.3", "--1", "v1"}) {
    EXPECT_EQ(literal(text), json(text).dump()) << text;
  }
}

TEST(ReadLiteral, NumbersStopAtTheEndsOf64Bits) {
  EXPECT_EQ(literal("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(literal("9223372036854775808"), "!t.number-range");
  EXPECT_EQ(literal("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(literal("-9223372036854775809"), "!t.number-range");
  EXPECT_EQ(literal("[1,99999999999999999999]"), "!t.number-range");
  EXPECT_EQ(literal("1e308"), "1e+308");
  EXPECT_EQ(literal("1e309"), "!t.number-range");
  EXPECT_EQ(literal("'9223372036854775808'"), "\"9223372036854775808\"");
}

TEST(ReadLiteral, ListsAndDictsNestAndForgiveBlanks) {
  EXPECT_EQ(literal("[]"), "[]");
  EXPECT_EQ(literal("[ ]"), "[]");
  EXPECT_EQ(literal("[a,b]"), R"(["a","b"])");
  EXPECT_EQ(literal("[ a , 'b c',\"d\" ,1, null ]"), R"(["a","b c","d",1,null])");
  EXPECT_EQ(literal("[[a],[b,[]]]"), R"([["a"],["b",[]]])");
  EXPECT_EQ(literal("[a b]"), R"(["a b"])");
  EXPECT_EQ(literal("{}"), "{}");
  EXPECT_EQ(literal("{a: 1, 'b c':[x]}"), R"({"a":1,"b c":["x"]})");
  EXPECT_EQ(literal("{a:b:c}"), R"({"a":"b:c"})");
  EXPECT_EQ(literal("[{a:1}]"), R"([{"a":1}])");
}

TEST(ReadLiteral, BracketsAndQuotesMustBePaired) {
  for (const char* text :
       {"[",    "[a",  "[a,",   "a]",  "]",      "[a]]",   "[a] b", "[a,,b]", "[,a]",
        "[a,]", "{",   "{a",    "{a}", "{a:1",   "{a:1,}", "{:1}",  "{a:}",   "}",
        "'a",   "\"a", "'a' b", "a'b", "[a[b]]", "[a'b]",  "'a\\'", "${a",    "a[0]"}) {
    EXPECT_EQ(literal(text), "!t.malformed-value") << text;
  }
}

TEST(ReadLiteral, ACommaOutsideBracketsIsASweepAndNotAValue) {
  EXPECT_EQ(literal("a,b"), "!t.several-values");
  EXPECT_EQ(literal("'a,b'"), "\"a,b\"");
  EXPECT_EQ(literal("a\\,b"), "\"a,b\"");
}

TEST(ReadLiteral, BareTextKeepsWhatItHolds) {
  EXPECT_EQ(literal(""), "\"\"");
  EXPECT_EQ(literal("Et*3|(tt|)*29m|L"), "\"Et*3|(tt|)*29m|L\"");
  EXPECT_EQ(literal("${oc.env:HOME}/x"), "\"${oc.env:HOME}/x\"");
  EXPECT_EQ(literal("a=b"), "\"a=b\"");
  EXPECT_EQ(literal("\\ 1"), "\"1\"");  // escaped: text, not a number
}

TEST(ReadLiteral, InQuotesABackslashCountsOnlyBeforeAQuote) {
  EXPECT_EQ(literal(R"('it\'s')"), "\"it's\"");
  EXPECT_EQ(literal(R"("it's")"), "\"it's\"");
  EXPECT_EQ(literal(R"('a\b')"), R"("a\\b")");
  EXPECT_EQ(literal(R"('a\\b')"), R"("a\\\\b")");
  EXPECT_EQ(literal(R"('a\\')"), R"("a\\")");
}

TEST(ReadLiteral, NestingIsBounded) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(literal(nested(16)), nested(16));
  EXPECT_EQ(literal(nested(17)), "!t.too-deep");
  EXPECT_EQ(literal(std::string(1'000'000, '[')), "!t.too-deep");
  EXPECT_EQ(literal(std::string(1'000'000, '{')), "!t.malformed-value");
}

TEST(ReadLiteral, AKeyThatIsThereTwiceCountsLastWithANote) {
  const auto read = read_literal("{a:1,a:2}", {"t", ""});
  EXPECT_EQ(outcome(read), R"({"a":2})");
  EXPECT_EQ(rules_of(read.findings), "t.duplicate-key");
  EXPECT_TRUE(read_literal("{a:1,b:2}", {"t", ""}).findings.empty());
}

TEST(ReadScalar, KnowsNoBracketsAndNoQuotes) {
  EXPECT_EQ(outcome(read_scalar("[a", {"t", ""})), "\"[a\"");
  EXPECT_EQ(outcome(read_scalar("a,b", {"t", ""})), "\"a,b\"");
  EXPECT_EQ(outcome(read_scalar("", {"t", ""})), "\"\"");
  EXPECT_EQ(outcome(read_scalar("4", {"t", ""})), "4");
}

TEST(LiteralText, QuotesWhatWouldBeReadAsSomethingElse) {
  EXPECT_EQ(literal_text("core_attn"), "core_attn");
  EXPECT_EQ(literal_text("null"), "'null'");
  EXPECT_EQ(literal_text("None"), "'None'");
  EXPECT_EQ(literal_text("12"), "'12'");
  EXPECT_EQ(literal_text(""), "''");
  EXPECT_EQ(literal_text("it's"), R"('it\'s')");
  EXPECT_EQ(literal_text(json::parse(R"(["a","b c",1.0,null,{"k":[]}])")),
            "[a,'b c',1.0,null,{k:[]}]");
}

}  // namespace
}  // namespace refrain::config
