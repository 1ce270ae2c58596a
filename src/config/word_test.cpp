#include "config/word.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

TEST(AsWord, IsInQuotesOnlyWhereItMustBe) {
  EXPECT_EQ(as_word("llama-15m"), "llama-15m");
  EXPECT_EQ(as_word("a b's/config.json"), "a b's/config.json");
  EXPECT_EQ(as_word(""), "");
  EXPECT_EQ(as_word("\x1b[31m"), "'\\x1b[31m'");
  EXPECT_EQ(as_word("a\nb"), "'a\\x0ab'");
  EXPECT_EQ(as_word(std::string(120, 'a')), std::string(120, 'a'));
  EXPECT_EQ(as_word(std::string(121, 'a')), "'" + std::string(120, 'a') + "...'");
}

TEST(ForTerminal, EscapesWhatATerminalWouldActOnAndNothingElse) {
  EXPECT_EQ(for_terminal("two\n\tlines, h\xc3\xbcte \xe2\x82\xac"),
            "two\n\tlines, h\xc3\xbcte \xe2\x82\xac");
  EXPECT_EQ(for_terminal("\x1b[31m\r\x7f"), "\\x1b[31m\\x0d\\x7f");
  EXPECT_EQ(for_terminal("\xc2\x9b"
                         "31m \xc2\xa0 \xc2"),
            "\\xc2\\x9b"
            "31m \xc2\xa0 \xc2");
  EXPECT_EQ(for_terminal(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(for_terminal("\\x1b"), "\\x1b");
}

}  // namespace
}  // namespace refrain::config
