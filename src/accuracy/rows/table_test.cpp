#include "accuracy/rows/table.h"

#include <gtest/gtest.h>

namespace refrain::accuracy {
namespace {

Table table_of(std::string_view text) { return read_table(text).value.value(); }

/// The rule that refuses the text; "" where none does.
std::string refusal(std::string_view text) {
  const Checked<Table> table = read_table(text);
  return table.value ? "" : table.findings.at(0).rule;
}

TEST(Table, NamesColumnsAndKeepsRows) {
  const Table table = table_of("\xEF\xBB\xBFname,size\r\n\"a, b\",1\n\nc,2");
  EXPECT_TRUE(table.has("name"));
  EXPECT_TRUE(table.has("size"));
  EXPECT_FALSE(table.has("other"));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0][0], "a, b");
  EXPECT_EQ(table.rows[1][1], "2");
}

TEST(Table, AFileWithoutNamesIsRefused) {
  EXPECT_EQ(refusal(""), "accuracy.empty-file");
  EXPECT_EQ(refusal("\n\n"), "accuracy.empty-file");
  EXPECT_EQ(refusal("a"), "");
}

TEST(Table, QuotesMustBeDoubledAndClosed) {
  EXPECT_EQ(refusal("a,b\n1,\"x\"\"y\""), "");
  EXPECT_EQ(refusal("a,b\n1,\"x\"y\""), "accuracy.malformed-csv");
  EXPECT_EQ(refusal("a,b\n1,x\"y"), "accuracy.malformed-csv");
  EXPECT_EQ(refusal("a,b\n1,\"x"), "accuracy.malformed-csv");
  EXPECT_EQ(refusal("a\r\nb"), "");
  EXPECT_EQ(refusal("a\rb"), "accuracy.malformed-csv");
  EXPECT_EQ(refusal("\"a\rb\""), "");
}

TEST(Table, TheLineThatIsWrongIsNamed) {
  const Checked<Table> table = read_table("a,b\n\"1\n2\",3\n4,x\"\n");
  EXPECT_NE(table.findings.at(0).message.find("line 4"), std::string::npos);
}

TEST(Table, BytesThatAreNoTextAreRefused) {
  EXPECT_EQ(refusal("a\xFF"), "accuracy.not-text");
  EXPECT_EQ(refusal(std::string_view("a\0b", 3)), "accuracy.not-text");
  EXPECT_EQ(refusal("\xC3\xA4"), "");
}

TEST(RowReader, ARaggedRowIsAFindingAndItsMissingCellsAreEmpty) {
  const Table table = table_of("a,b\n1\n1,2\n1,2,3\n");
  RowReader narrow(table, 0), right(table, 1), wide(table, 2);
  ASSERT_EQ(narrow.findings().size(), 1u);
  EXPECT_EQ(narrow.findings()[0].rule, "accuracy.ragged-row");
  EXPECT_EQ(narrow.text("b"), "");
  EXPECT_TRUE(right.findings().empty());
  EXPECT_EQ(wide.findings().size(), 1u);
  EXPECT_EQ(wide.number(), 3);
}

TEST(RowReader, ACellIsTrimmedAndAMissingColumnIsEmpty) {
  const Table table = table_of("a,b\n\" x \", y\n");
  const RowReader row(table, 0);
  EXPECT_EQ(row.text("a"), "x");
  EXPECT_EQ(row.text("b"), "y");
  EXPECT_EQ(row.text("c"), "");
  EXPECT_FALSE(row.given("c"));
}

TEST(RowReader, OtherArgumentsStandInForColumns) {
  const Table table = table_of("a,b,other_args\n,2,a=1 b=3 ab=4 c\n");
  RowReader row(table, 0);
  EXPECT_EQ(row.text("a"), "1");
  EXPECT_EQ(row.text("b"), "2");  // the column's own cell first
  EXPECT_EQ(row.text("ab"), "4");
  EXPECT_EQ(row.text("c"), "");
  EXPECT_EQ(row.text("d"), "");
}

TEST(RowReader, WholeNumbersHaveBounds) {
  const Table table = table_of("a,b,c,d,e,f\n8,8.0,0,-1,8.5,99999999999999999999\n");
  RowReader row(table, 0);
  EXPECT_EQ(row.whole("a"), 8);
  EXPECT_EQ(row.whole("b"), 8);
  EXPECT_EQ(row.whole("nothing"), std::nullopt);
  EXPECT_EQ(row.whole_or("nothing", 5), 5);
  EXPECT_EQ(row.whole("c", {.least = 0}), 0);
  EXPECT_EQ(row.whole("a", {.most = 8}), 8);
  EXPECT_TRUE(row.findings().empty());
  for (const char* column : {"c", "d", "e", "f"}) EXPECT_EQ(row.whole(column), std::nullopt);
  EXPECT_EQ(row.whole("a", {.most = 7}), std::nullopt);
  ASSERT_EQ(row.findings().size(), 5u);
  for (const Finding& finding : row.findings()) EXPECT_EQ(finding.rule, "accuracy.bad-cell");
  EXPECT_NE(row.findings()[1].message.find("d of row 1"), std::string::npos);
  EXPECT_NE(row.findings()[1].message.find("'-1'"), std::string::npos);
}

TEST(RowReader, ACellThatIsReadTwiceIsOneFinding) {
  const Table table = table_of("a,b\nx,y\n");
  RowReader row(table, 0);
  row.whole("a");
  row.whole("a");
  EXPECT_EQ(row.findings().size(), 1u);
  row.whole("b");
  EXPECT_EQ(row.findings().size(), 2u);
}

TEST(RowReader, ARequiredCellThatIsEmptyIsAFinding) {
  const Table table = table_of("a,b\n8,\n");
  RowReader row(table, 0);
  EXPECT_EQ(row.required("a"), 8);
  EXPECT_TRUE(row.findings().empty());
  EXPECT_EQ(row.required("b"), 1);
  ASSERT_EQ(row.findings().size(), 1u);
  EXPECT_EQ(row.findings()[0].rule, "accuracy.missing-cell");
}

TEST(RowReader, TruthIsReadInEveryUsualSpelling) {
  const Table table = table_of("a,b,c,d,e,f\nTrue,1,yes,False,,maybe\n");
  RowReader row(table, 0);
  for (const char* column : {"a", "b", "c"}) EXPECT_TRUE(row.yes(column)) << column;
  for (const char* column : {"d", "e", "g"}) EXPECT_FALSE(row.yes(column)) << column;
  EXPECT_TRUE(row.findings().empty());
  EXPECT_FALSE(row.yes("f"));
  EXPECT_EQ(row.findings().size(), 1u);
}

TEST(RowReader, RealNumbersAreFiniteAndNotNegative) {
  const Table table = table_of("a,b,c,d\n0.0,nan,-0.5,1e400\n");
  RowReader row(table, 0);
  EXPECT_EQ(row.real("a"), 0.0);
  EXPECT_TRUE(row.findings().empty());
  for (const char* column : {"b", "c", "d"}) EXPECT_EQ(row.real(column), std::nullopt);
  EXPECT_EQ(row.findings().size(), 3u);
}

TEST(RowReader, WordsLoseBracketsAndCommas) {
  const Table table = table_of("a,b\n[mlp moe_act],\"mlp,moe_act\"\n");
  const RowReader row(table, 0);
  EXPECT_EQ(row.words("a"), (std::vector<std::string>{"mlp", "moe_act"}));
  EXPECT_EQ(row.words("b"), row.words("a"));
  EXPECT_TRUE(row.words("c").empty());
}

}  // namespace
}  // namespace refrain::accuracy
