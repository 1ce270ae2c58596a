#include "config/inputs/overrides/overrides.h"

#include <gtest/gtest.h>

#include <cmath>

#include "config/inputs/testing/outcome.h"
#include "config/inputs/testing/random_pieces.h"

namespace refrain::config {
namespace {

std::string read(std::string_view token) { return outcome(parse_override(token)); }

TEST(ParseOverride, SetsAddsAndTakesAway) {
  for (const char* token : {"x=1", " x = 1 ", "model.x=1", "cfg.model.x=1"}) {
    EXPECT_EQ(read(token), "x=1") << token;
  }
  for (const char* token : {"+fp8=e4m3", "++fp8=e4m3", "++cfg.model.fp8=e4m3"}) {
    EXPECT_EQ(read(token), "fp8=e4m3") << token;
  }
  EXPECT_EQ(read("~x"), "~x");
  EXPECT_EQ(read("~model.x"), "~x");
  EXPECT_EQ(read("~x=3"), "~x=3");
  EXPECT_EQ(read("x="), "x=''");
  EXPECT_EQ(read("x=a=b"), "x='a=b'");
}

TEST(ParseOverride, NullEmptyAndAbsentAreThreeThings) {
  EXPECT_EQ(read("cfg.model.recompute_modules=[core_attn,mlp]"),
            "recompute_modules=[core_attn,mlp]");
  EXPECT_EQ(read("model.recompute_modules=[]"), "recompute_modules=[]");
  EXPECT_EQ(read("model.recompute_modules=null"), "recompute_modules=null");
  EXPECT_EQ(read("~model.recompute_modules"), "~recompute_modules");
}

TEST(ParseOverride, RemembersWhatWasTyped) {
  const auto checked = parse_override("++model.offload_modules=[a]");
  ASSERT_TRUE(checked.value);
  const Source source{Origin::kOverride, "++model.offload_modules=[a]"};
  EXPECT_EQ(checked.value->at(0),
            (Assignment{"offload_modules", Value::array({"a"}), source, false}));
}

TEST(ParseOverride, WhatIsAddedAndNobodyHasIsDroppedWithANote) {
  EXPECT_EQ(read("++recompute_granularty=full"), "");
  const auto added = parse_override("+model.recompute_granularty=full");
  EXPECT_EQ(outcome(added), "");
  EXPECT_EQ(rules_of(added.findings), "override.added-and-dropped");
  EXPECT_NE(added.findings[0].remedy.find("recompute_granularity?"), std::string::npos);
  // Without a plus it is an error of the configuration; a field that some release has is kept.
  EXPECT_EQ(read("recompute_granularty=full"), "recompute_granularty=full");
  EXPECT_EQ(read("+moe_z_loss_coeff=1"), "moe_z_loss_coeff=1");
  EXPECT_EQ(read("+optimizer.lr=1"), "optimizer.lr=1");
  EXPECT_EQ(read("++model={fp8:e4m3,nothing:1}"), "fp8=e4m3");
}

TEST(ParseOverride, TheFirstOfSeveralNamesIsAPartOfTheConfiguration) {
  const auto misspelt = parse_override("modle.recompute_granularity=full");
  EXPECT_EQ(outcome(misspelt), "!override.unknown-part");
  EXPECT_NE(misspelt.findings[0].remedy.find("model?"), std::string::npos);
  EXPECT_EQ(read("~modle.x"), "!override.unknown-part");
  EXPECT_EQ(read("+env_vars.A=1"), "env_vars.A=1");
  EXPECT_EQ(read("model.b.c=1"), "model.b.c=1");
}

TEST(ParseOverride, NoneIsTextWithANote) {
  const auto none = parse_override("recompute_granularity=None");
  EXPECT_EQ(outcome(none), "recompute_granularity='None'");
  EXPECT_EQ(rules_of(none.findings), "override.text-not-meant");
}

TEST(ParseOverride, ADictSetsAKnobForEachKey) {
  EXPECT_EQ(read("model={a:1,b:{c:[x]}}"), "a=1 model.b.c=[x]");
  EXPECT_EQ(read("train={micro_batch_size:2,x:3}"), "micro_batch_size=2 train.x=3");
  EXPECT_EQ(read("x=[{a:1}]"), "x=[{a:1}]");
  EXPECT_EQ(read("x={}"), "");
  EXPECT_EQ(rules_of(parse_override("x={}").findings), "override.empty-dict");
  EXPECT_EQ(read("x={'a b':1}"), "!override.malformed-key");
}

TEST(ParseOverride, AnEqualsSignAndANameAreNeeded) {
  for (const char* token : {"", "=1", "+=1", "~", "+", " =", "~=1"}) {
    EXPECT_EQ(read(token), "!override.empty-key") << token;
  }
  EXPECT_EQ(read("x"), "!override.no-value");
  EXPECT_EQ(read("+x"), "!override.no-value");
  for (const char* token : {"a..b=1", ".a=1", "a.=1", "a b=1", "a[0]=1", "+++x=1", "a@b=1",
                            "model.=1", "-x=1", "a.-x=1", "\xc3\xa9=1"}) {
    EXPECT_EQ(read(token), "!override.malformed-key") << token;
  }
}

TEST(ParseOverride, TheMessageNamesTheTokenAndTheRemedyTheKnob) {
  const Finding finding = parse_override("recompute_modules").findings.at(0);
  EXPECT_NE(finding.message.find("'recompute_modules'"), std::string::npos);
  EXPECT_NE(finding.remedy.find("recompute_modules=VALUE"), std::string::npos);
  EXPECT_EQ(parse_override("+\x1b[31m").findings.at(0).remedy, "write knob=value");
}

TEST(ParseOverride, WhatIsWrongWithTheValueIsAFinding) {
  EXPECT_EQ(read("x=[a"), "!override.malformed-value");
  EXPECT_EQ(read("x=a,b"), "!override.several-values");
  EXPECT_EQ(read("x=9223372036854775808"), "!override.number-range");
  EXPECT_EQ(read("x=" + std::string(17, '[')), "!override.too-deep");
  EXPECT_EQ(read("x=\xff"), "!override.not-text");
  EXPECT_EQ(read(std::string_view("x=a\0", 4)), "!override.not-text");
}

TEST(ParseOverride, IsBounded) {
  const std::string most = "x=" + std::string(64 * 1024 - 2, 'a');
  EXPECT_TRUE(parse_override(most).value);
  EXPECT_EQ(read(most + "a"), "!override.too-long");
  std::string dict = "x={k0:0";
  for (int i = 1; i < 1000; ++i) dict += ",k" + std::to_string(i) + ":0";
  EXPECT_EQ(parse_override(dict + "}").value->size(), 1000);
  EXPECT_EQ(read(dict + ",more:0}"), "!override.too-many-knobs");
}

TEST(IsOverride, IsToldFromFlagsWordsAndPaths) {
  for (const char* word : {"x=1", "+x", "++x=1", "~x", "a.b=[c]"}) EXPECT_TRUE(is_override(word));
  for (const char* word : {"", "x", "--x=1", "-x", "~/x", "~/x=1"}) {
    EXPECT_FALSE(is_override(word)) << word;
  }
}

/// Draws what may stand in a value: text with everything that has a meaning somewhere.
class RandomValues {
 public:
  explicit RandomValues(uint32_t seed)
      : pieces_(seed, {"a",        "core_attn", " ",  ",", "[",    "]",   "{",    "}",  "'",
                       "\"",       "\\",        "=",  ":", "null", "1",   ".",    "-",  "true",
                       "\xc3\xa9", "\n",        "\t", "$", "#",    "~",   "None", "e5", "(",
                       ")",        "${",        "+",  "_", "\x01", "\x7f"}) {}

  Value value(int depth) {
    switch (below(depth < 4 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<int64_t>((bits() << 32 | bits()) >> below(64));
      case 3:
        return static_cast<double>(bits()) * std::pow(10.0, static_cast<int>(below(60)) - 30);
      case 4:
      case 5:
        return text();
      case 6:
        return list(depth);
      default:
        return depth == 0 ? list(depth) : dict(depth);
    }
  }

  std::string knob() {
    static const std::vector<std::string> parts = {"model", "cfg", "train", "micro_batch_size",
                                                   "x",     "a-b", "_y9"};
    std::string path = parts[below(parts.size())];
    for (size_t n = below(3); n > 0; --n) path += "." + parts[below(parts.size())];
    return path;
  }

  size_t below(size_t n) { return pieces_.below(n); }

 private:
  uint64_t bits() { return below(size_t{1} << 32); }
  std::string text() {
    std::string made;
    for (const std::string& piece : pieces_.words(5)) made += piece;
    return made;
  }
  Value list(int depth) {
    Value made = Value::array();
    for (size_t n = below(4); n > 0; --n) made.push_back(value(depth + 1));
    return made;
  }
  Value dict(int depth) {
    Value made = Value::object();
    for (size_t n = below(3); n > 0; --n) made[text()] = value(depth + 1);
    return made;
  }

  RandomPieces pieces_;
};

TEST(OverrideText, WhatIsPrintedReadsBackTheSame) {
  RandomValues random(20250117);
  for (int round = 0; round < 5000; ++round) {
    Assignment written{random.knob(), random.value(0), {Origin::kOverride, ""}};
    written.removes = random.below(8) == 0;
    written.source.place = to_text(written);
    const auto read_back = parse_override(to_text(written));
    ASSERT_TRUE(read_back.value) << to_text(written) << "\n"
                                 << refrain::to_text(read_back.findings);
    ASSERT_EQ(*read_back.value, Assignments{written}) << to_text(written);
    EXPECT_TRUE(read_back.findings.empty()) << to_text(written);
  }
}

TEST(OverrideText, NamesThatLookLikePrefixesReadBackTheSame) {
  for (const char* token : {"++config.new.knob=1", "++config.config.knob=1", "++model.model.knob=1",
                            "++model.config.config.knob=1", "++cfg.cfg.knob=1"}) {
    const auto read = parse_override(token);
    ASSERT_TRUE(read.value && read.value->size() == 1) << token;
    const auto again = parse_override(to_text(read.value->front()));
    ASSERT_TRUE(again.value && again.value->size() == 1) << token;
    EXPECT_EQ(again.value->front().knob, read.value->front().knob) << token;
  }
}

// Whatever bytes come in, what is read prints and reads back the same, or there are findings.
TEST(ParseOverride, RandomTextIsReadOrRefused) {
  RandomPieces random(7, {"model.", "cfg.", "x",  "=", "[", "]", "{", "}",    ",", ":", "'",
                          "\"",     "\\",   "12", ".", "+", "~", " ", "null", "e", "$", "_"});
  int num_accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string token = (random.below(2) == 0 ? "x=" : "") + random.text(8);
    const auto checked = parse_override(token);
    ASSERT_EQ(checked.value.has_value(), !rejects(checked.findings)) << token;
    if (!checked.value) continue;
    ++num_accepted;
    for (const Assignment& a : *checked.value) {
      const auto again = parse_override(to_text(a));
      ASSERT_TRUE(again.value) << token << " -> " << to_text(a);
      EXPECT_EQ(again.value->at(0).knob, a.knob) << token;
      EXPECT_EQ(again.value->at(0).value, a.value) << token;
      EXPECT_EQ(again.value->at(0).removes, a.removes) << token;
    }
  }
  EXPECT_GT(num_accepted, 1000);
}

}  // namespace
}  // namespace refrain::config
