#include "config/recipes/csv.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace refrain::config {
namespace {

using Rows = std::vector<CsvRow>;

TEST(Csv, EmptyTextHasNoRowsAndAnEmptyLineHasOneEmptyField) {
  EXPECT_EQ(parse_csv(""), Rows{});
  EXPECT_EQ(parse_csv("\n"), (Rows{{""}}));
}

TEST(Csv, EmptyFieldsAreKeptAtEveryPlace) {
  EXPECT_EQ(parse_csv(",a,,b,\n"), (Rows{{"", "a", "", "b", ""}}));
  EXPECT_EQ(parse_csv(","), (Rows{{"", ""}}));
  EXPECT_EQ(parse_csv("\"\",\"\"\n"), (Rows{{"", ""}}));
}

TEST(Csv, LineEndsAreEitherAndTheLastMayBeMissing) {
  const Rows expected = {{"a", "b"}, {"c", "d"}};
  EXPECT_EQ(parse_csv("a,b\nc,d\n"), expected);
  EXPECT_EQ(parse_csv("a,b\r\nc,d\r\n"), expected);
  EXPECT_EQ(parse_csv("a,b\r\nc,d"), expected);
}

TEST(Csv, QuotesHoldCommasLineEndsAndDoubledQuotes) {
  EXPECT_EQ(parse_csv("\"a,b\",c\n"), (Rows{{"a,b", "c"}}));
  EXPECT_EQ(parse_csv("\"a\nb\r\nc\",d\ne,f\n"), (Rows{{"a\nb\r\nc", "d"}, {"e", "f"}}));
  EXPECT_EQ(parse_csv("\"say \"\"a\"\"\",b\n"), (Rows{{"say \"a\"", "b"}}));
  EXPECT_EQ(parse_csv("\"\"\"\"\n"), (Rows{{"\""}}));
  EXPECT_EQ(parse_csv("\"a\""), (Rows{{"a"}}));
}

TEST(Csv, BlanksBelongToTheField) { EXPECT_EQ(parse_csv(" a , b"), (Rows{{" a ", " b"}})); }

TEST(Csv, BrokenTextIsOurBug) {
  EXPECT_THROW(parse_csv("\"a"), Bug);
  EXPECT_THROW(parse_csv("\"a\"\"\n"), Bug);
  EXPECT_THROW(parse_csv("\"a\"b,c\n"), Bug);
  EXPECT_THROW(parse_csv("a\"b\"\n"), Bug);
  EXPECT_THROW(parse_csv("\"a\"\rb\n"), Bug);
}

TEST(CsvTable, ReadsRecordsByColumn) {
  const CsvTable table("name,size\r\nx,1\r\n\"y, z\",\r\n");
  const std::vector<CsvRecord> records = table.records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["size"], "1");
  EXPECT_EQ(records[1]["name"], "y, z");
  EXPECT_EQ(records[1]["size"], "");
  EXPECT_THROW(records[0]["weight"], Bug);
}

TEST(CsvTable, RowsMustBeAsLongAsTheFirst) {
  EXPECT_TRUE(CsvTable("a,b\n").records().empty());
  EXPECT_THROW(CsvTable("a,b\n1\n"), Bug);
  EXPECT_THROW(CsvTable("a,b\n1,2,3\n"), Bug);
  EXPECT_THROW(CsvTable(""), Bug);
}

}  // namespace
}  // namespace refrain::config
