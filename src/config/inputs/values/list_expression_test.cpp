#include "config/inputs/values/list_expression.h"

#include <gtest/gtest.h>

#include "config/inputs/testing/outcome.h"

namespace refrain::config {
namespace {

using nlohmann::json;

std::string expression(std::string_view text) {
  return outcome(evaluate_list_expression(text, {"t", text}));
}

TEST(ListExpression, IsPythonsForWholeNumbers) {
  EXPECT_EQ(expression("([0]*3+[1]*2)"), "[0,0,0,1,1]");
  EXPECT_EQ(expression("([0]+[1]*2)*2"), "[0,1,1,0,1,1]");
  EXPECT_EQ(expression("2*[1,0]"), "[1,0,1,0]");
  EXPECT_EQ(expression("[0, 1,]"), "[0,1]");
  EXPECT_EQ(expression("[]"), "[]");
  EXPECT_EQ(expression("[1]*0"), "[]");
  EXPECT_EQ(expression(" 4 "), "4");
  EXPECT_EQ(expression("(1+2)*3"), "9");
  EXPECT_EQ(expression("[1]*(2+1)"), "[1,1,1]");
}

TEST(ListExpression, RefusesEverythingElse) {
  for (const char* text :
       {"", "a", "-1", "1.5", "[1", "[1]]", "([1]", "[1]+1", "1+[1]", "[1]*[2]", "[[1]]", "[1]*",
        "[1]**2", "__import__('os')", "[a]", "1 2", "[1 2]", "[,]"}) {
    EXPECT_EQ(expression(text), "!t.list-expression") << text;
  }
}

TEST(ListExpression, IsBounded) {
  EXPECT_EQ(json::parse(expression("[1]*65536")).size(), 65536);
  EXPECT_EQ(expression("[1]*65537"), "!t.list-expression");
  EXPECT_EQ(expression("[1]*65536+[1]"), "!t.list-expression");
  EXPECT_EQ(expression("[1]*1000000000*1000000000"), "!t.list-expression");
  EXPECT_EQ(expression("1000000000"), "1000000000");
  EXPECT_EQ(expression("1000000001"), "!t.list-expression");
  EXPECT_EQ(expression("1000000000*2"), "!t.list-expression");
  EXPECT_EQ(expression(std::string(16, '(') + "1" + std::string(16, ')')), "1");
  EXPECT_EQ(expression(std::string(17, '(') + "1" + std::string(17, ')')), "!t.list-expression");
  EXPECT_EQ(expression("[" + std::string(4094, ' ') + "]"), "[]");
  EXPECT_EQ(expression("[" + std::string(4095, ' ') + "]"), "!t.list-expression");
}

}  // namespace
}  // namespace refrain::config
