#include "report/page/markup/html.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace refrain::report {
namespace {

std::string text(std::string_view plain) { return Html::text(plain).markup(); }

TEST(Html, TextIsEscapedAndOtherwiseKept) {
  EXPECT_EQ(text("</script><b a=\"1\" c='2'>&"),
            "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  EXPECT_EQ(text("layers.3 attn.qkv, µ 語 😀\n\t"), "layers.3 attn.qkv, µ 語 😀\n\t");
}

TEST(Html, BrokenUtf8AndControlsAreReplacedAndTheirNeighboursKept) {
  EXPECT_EQ(text("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(text("a\xE8\xAAz"), "a\uFFFDz");  // a character cut short
  EXPECT_EQ(text(std::string_view("a\0z", 3)), "a\uFFFDz");
  EXPECT_EQ(text("a\x1B[1mz\x7F"), "a\uFFFD[1mz\uFFFD");
  EXPECT_EQ(text("\xC2\x9F\xC2\xA0"), "\uFFFD\xC2\xA0");  // the last control, the next one
}

TEST(Html, AttributesAreEscaped) {
  const Html html = Html::element("p", {{"title", "\"><img src=x onerror=alert(1)>"}}, Html());
  EXPECT_EQ(html.markup(), "<p title=\"&quot;&gt;&lt;img src=x onerror=alert(1)&gt;\"></p>");
}

TEST(Html, ElementsNestAndAreClosed) {
  const Html row = Html::element(
      "tr", {}, {Html::element("td", {}, Html::text("a")), Html::element("td", {}, Html())});
  EXPECT_EQ(row.markup(), "<tr><td>a</td><td></td></tr>");
  EXPECT_EQ(Html::element("meta", {{"charset", "utf-8"}}).markup(), "<meta charset=\"utf-8\" />");
}

TEST(Html, JsonCannotEndItsScriptAndReadsBackTheSame) {
  const nlohmann::ordered_json value = {{"name", "</script><!--&\"'\u2028"}, {"n", {1, 2}}};
  const std::string markup = Html::json("data", value).markup();
  const size_t begin = markup.find('\n', 1) + 1, end = markup.rfind("\n</script>");
  EXPECT_EQ(markup.substr(0, begin), "\n<script type=\"application/json\" id=\"data\">\n");
  const std::string inside = markup.substr(begin, end - begin);
  EXPECT_EQ(inside.find_first_of("<>&"), std::string::npos) << inside;
  EXPECT_EQ(nlohmann::ordered_json::parse(inside), value);
}

TEST(Html, JsonOfBrokenUtf8IsReadable) {
  const std::string markup = Html::json("data", {{"name", "a\xFF"}}).markup();
  EXPECT_NE(markup.find("a\uFFFD"), std::string::npos) << markup;
}

TEST(Html, RawTextMayNotEndItsElement) {
  EXPECT_EQ(Html::raw_text("style", "a > b {}\n").markup(), "\n<style>\na > b {}\n</style>\n");
  EXPECT_THROW(Html::raw_text("script", "'</script>'"), Bug);
}

}  // namespace
}  // namespace refrain::report
