#include "config/inputs/overrides.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "config/inputs/outcome.h"

namespace refrain::config {
namespace {

std::string read(std::string_view token) { return outcome(parse_override(token)); }

TEST(ParseOverride, SetsAddsAndTakesAway) {
  for (const char* token :
       {"x=1", "+x=1", "++x=1", " x = 1 ", "model.x=1", "cfg.model.x=1", "++cfg.model.x=1"}) {
    EXPECT_EQ(read(token), "x=1") << token;
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
  const auto checked = parse_override("++model.x=[a]");
  ASSERT_TRUE(checked.value);
  const Source source{Origin::kOverride, "++model.x=[a]"};
  EXPECT_EQ(checked.value->at(0), (Assignment{"x", Value::array({"a"}), source, false}));
}

TEST(ParseOverride, KnobsOutsideTheModelHaveTheirPlainNames) {
  EXPECT_EQ(read("train.micro_batch_size=2"), "micro_batch_size=2");
  EXPECT_EQ(read("cfg.train.global_batch_size=64"), "global_batch_size=64");
  EXPECT_EQ(read("dataset.sequence_length=4096"), "seq_length=4096");
  EXPECT_EQ(read("dataset.seq_length=4096"), "seq_length=4096");
  EXPECT_EQ(read("comm_overlap.overlap_moe_expert_parallel_comm=true"),
            "overlap_moe_expert_parallel_comm=true");
  EXPECT_EQ(read("comm_overlap.delay_wgrad_compute=True"), "delay_wgrad_compute=true");
  EXPECT_EQ(read("optimizer.optimizer_cpu_offload=true"), "optimizer.optimizer_cpu_offload=true");
  EXPECT_EQ(read("train.train_iters=50"), "train.train_iters=50");
}

TEST(ParseOverride, ADictSetsAKnobForEachKey) {
  EXPECT_EQ(read("model={a:1,b:{c:[x]}}"), "a=1 b.c=[x]");
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
  explicit RandomValues(uint32_t seed) : random_(seed) {}

  Value value(int depth) {
    switch (below(depth < 4 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<int64_t>((uint64_t{random_()} << 32 | random_()) >> below(64));
      case 3:
        return static_cast<double>(random_()) * std::pow(10.0, static_cast<int>(below(60)) - 30);
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

  size_t below(size_t n) { return random_() % n; }

 private:
  std::string text() {
    static const std::vector<std::string> pieces = {
        "a", "core_attn", " ",    ",",  "[", "]", "{",    "}",        "'",  "\"",   "\\",
        "=", ":",         "null", "1",  ".", "-", "true", "\xc3\xa9", "\n", "\t",   "$",
        "#", "~",         "None", "e5", "(", ")", "${",   "+",        "_",  "\x01", "\x7f"};
    std::string result;
    for (size_t n = below(6); n > 0; --n) result += pieces[below(pieces.size())];
    return result;
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

  std::mt19937 random_;
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

// Whatever bytes come in, what is read prints and reads back the same, or there are findings.
TEST(ParseOverride, RandomTextIsReadOrRefused) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {"model.", "cfg.", "x",    "=",  "[",  "]",  "{", "}",
                                           ",",      ":",    "'",    "\"", "\\", "12", ".", "+",
                                           "~",      " ",    "null", "e",  "$",  "_"};
  int num_accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string token = random() % 2 == 0 ? "x=" : "";
    for (size_t n = random() % 9; n > 0; --n) {
      token += random() % 16 == 0 ? std::string(1, static_cast<char>(random()))
                                  : pieces[random() % pieces.size()];
    }
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
