#include "base/text_table.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace refrain {
namespace {

TEST(TextTable, AlignsNumbersRightAndWordsLeftWithoutTrailingBlanks) {
  TextTable table({{"name"}, {"bytes", Align::kRight}, {"note"}});
  table.add_row({"a", "1", ""});
  table.add_row({"longer", "1234567", "x"});
  EXPECT_EQ(table.to_text(),
            "name      bytes  note\n"
            "------  -------  ----\n"
            "a             1\n"
            "longer  1234567  x\n");
}

TEST(TextTable, CountsCodePointsNotBytes) {
  TextTable table({{"µ", Align::kRight}, {"b"}});
  table.add_row({"éé", "1"});
  EXPECT_EQ(table.to_text(),
            " µ  b\n"
            "--  -\n"
            "éé  1\n");
}

TEST(TextTable, PrintsAHeaderWithoutRows) {
  EXPECT_EQ(TextTable({{"only"}}).to_text(), "only\n----\n");
}

TEST(TextTable, RefusesARowOfAnotherLength) {
  TextTable table({{"a"}, {"b"}});
  EXPECT_THROW(table.add_row({"1"}), Bug);
  EXPECT_THROW(table.add_row({"1", "2", "3"}), Bug);
}

}  // namespace
}  // namespace refrain
