#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <random>

#include "config/run_shape.h"

namespace refrain::cli {
namespace {

using config::AttentionBackend;
using Words = std::vector<std::string>;

/// One flag of every kind, and what a reading left in them.
struct Everything {
  int64_t whole = 5;
  uint64_t seed = 6;
  double real = 0.5;
  std::string text = "word";
  std::optional<int64_t> maybe_whole;
  std::optional<double> maybe_real;
  std::optional<std::string> maybe_text;
  bool on = false;
  AttentionBackend one = AttentionBackend::kFused;
  std::vector<AttentionBackend> several = {AttentionBackend::kFused};
  std::optional<std::string> knob;
  std::optional<Words> list;

  Reading read(const Words& arguments) {
    CommandLine line({"refrain try", "Tries.", "  refrain try\n"});
    const std::vector<AttentionBackend> all = {AttentionBackend::kFused,
                                               AttentionBackend::kUnfused};
    line.add({"--whole-number,--whole", "N", "whole"}, whole);
    line.add({"--seed", "N", "seed"}, seed);
    line.add({"--real", "X", "real"}, real);
    line.group("Words");
    line.add({"--text", "T", "text"}, text);
    line.add({"--maybe-whole", "N", "maybe"}, maybe_whole);
    line.add({"--maybe-real", "X", "maybe"}, maybe_real);
    line.add({"--maybe-text", "T", "maybe"}, maybe_text);
    line.add_switch({"--on", "", "switch"}, on);
    line.add_choice({"--one", "fused|unfused", "one"}, one, all);
    line.add_choices({"--several", "fused|unfused|both", "several"}, several, all);
    line.add_knob({"--some-knob", "K", "knob"}, knob);
    line.add_list_knob({"--some-list", "L", "list"}, list);
    return line.read(arguments);
  }

  std::string rules(const Words& arguments) {
    std::string text_of_rules;
    for (const Finding& finding : read(arguments).findings) {
      text_of_rules += (text_of_rules.empty() ? "" : " ") + finding.rule;
    }
    return text_of_rules;
  }
};

std::string rules_of(const Words& arguments) { return Everything().rules(arguments); }

std::string remedy_of(const Words& arguments) {
  const Findings findings = Everything().read(arguments).findings;
  return findings.empty() ? "" : findings[0].remedy;
}

TEST(CommandLine, NothingGivenLeavesTheDefaults) {
  Everything e;
  EXPECT_EQ(e.rules({}), "");
  EXPECT_EQ(e.whole, 5);
  EXPECT_EQ(e.text, "word");
  EXPECT_FALSE(e.on);
  EXPECT_FALSE(e.maybe_whole);
  EXPECT_FALSE(e.list);
}

TEST(CommandLine, ReadsEveryKindOfFlag) {
  Everything e;
  EXPECT_EQ(e.rules({"--whole-number",
                     "-7",
                     "--seed=18446744073709551615",
                     "--real",
                     "-2.5e-3",
                     "--text",
                     "a=b",
                     "--maybe-whole=9",
                     "--maybe-real",
                     "1e-4",
                     "--maybe-text",
                     "x",
                     "--on",
                     "--one",
                     "unfused",
                     "--several",
                     "both",
                     "--some-knob",
                     "k",
                     "--some-list",
                     "a",
                     "b"}),
            "");
  EXPECT_EQ(e.whole, -7);
  EXPECT_EQ(e.seed, UINT64_MAX);
  EXPECT_EQ(e.real, -2.5e-3);
  EXPECT_EQ(e.text, "a=b");
  EXPECT_EQ(e.maybe_whole, 9);
  EXPECT_EQ(e.maybe_real, 1e-4);
  EXPECT_EQ(e.maybe_text, "x");
  EXPECT_TRUE(e.on);
  EXPECT_EQ(e.one, AttentionBackend::kUnfused);
  EXPECT_EQ(e.several.size(), 2u);
  EXPECT_EQ(e.knob, "k");
  EXPECT_EQ(e.list, (Words{"a", "b"}));
}

TEST(CommandLine, DashesAndUnderscoresAreTheSameInNamesAndStayInValues) {
  Everything e;
  EXPECT_EQ(e.rules({"--whole_number", "1", "--maybe_text=a_b", "--some_list", "core_attn"}), "");
  EXPECT_EQ(e.whole, 1);
  EXPECT_EQ(e.maybe_text, "a_b");
  EXPECT_EQ(e.list, (Words{"core_attn"}));
}

TEST(CommandLine, ASecondNameIsTheSameFlag) {
  Everything e;
  EXPECT_EQ(e.rules({"--whole", "8"}), "");
  EXPECT_EQ(e.whole, 8);
  EXPECT_EQ(rules_of({"--whole", "8", "--whole-number", "8"}), "cli.given-twice");
}

TEST(CommandLine, ListsTakeSeparateWordsCommasAndBrackets) {
  for (const Words& spelling :
       {Words{"--some-list", "a", "b"}, Words{"--some-list", "a,b"}, Words{"--some-list=a,b"},
        Words{"--some-list", "[a,b]"}, Words{"--some-list=[a, b]"},
        Words{"--some-list", "[a,", "b]"}, Words{"some_list=[a,b]"}, Words{"some_list=a,b"},
        Words{"some_list=['a', \"b\"]"}, Words{"--some-list", "a", "b", "--on"},
        Words{"some_list=[a,b]", "--on"}}) {
    Everything e;
    EXPECT_EQ(e.rules(spelling), "") << spelling[0];
    EXPECT_EQ(e.list, (Words{"a", "b"})) << spelling[0];
  }
}

TEST(CommandLine, AnEmptyListIsThereAndNullIsAbsent) {
  for (const Words& spelling : {Words{"some_list=[]"}, Words{"--some-list", "[]"},
                                Words{"--some-list"}, Words{"some_list="}}) {
    Everything e;
    EXPECT_EQ(e.rules(spelling), "") << spelling[0];
    EXPECT_EQ(e.list, Words{}) << spelling[0];
  }
  Everything e;
  EXPECT_EQ(e.rules({"some_list=null"}), "");
  EXPECT_EQ(e.list, std::nullopt);
}

TEST(CommandLine, OverridesStandAnywhereAndMayHaveAPrefix) {
  for (const char* spelling : {"some_knob=v", "model.some_knob=v", "cfg.model.some_knob=v",
                               "+some_knob=v", "++model.some_knob=v"}) {
    Everything e;
    EXPECT_EQ(e.rules({"--on", spelling, "--whole", "3"}), "") << spelling;
    EXPECT_EQ(e.knob, "v") << spelling;
    EXPECT_EQ(e.whole, 3);
  }
  Everything after_a_list;
  EXPECT_EQ(after_a_list.rules({"--some-list", "a", "some_knob=v", "b"}), "");
  EXPECT_EQ(after_a_list.knob, "v");
  EXPECT_EQ(after_a_list.list, (Words{"a", "b"}));
}

TEST(CommandLine, AnOverrideAndItsFlagAreTheSameKnob) {
  EXPECT_EQ(rules_of({"some_knob=a", "--some-knob", "a"}), "cli.given-twice");
  EXPECT_EQ(rules_of({"some_list=[a]", "--some-list", "a"}), "cli.given-twice");
}

TEST(CommandLine, UnknownNamesGetTheNearest) {
  EXPECT_EQ(rules_of({"--whole-numbr", "3"}), "cli.unknown-flag");
  EXPECT_EQ(remedy_of({"--whole-numbr", "3"}), "did you mean --whole-number?");
  EXPECT_EQ(remedy_of({"--zzzzzzzzzzzz=1"}), "see refrain try --help");
  EXPECT_EQ(rules_of({"-x"}), "cli.unknown-flag");
  EXPECT_EQ(rules_of({"some_knb=3"}), "cli.unknown-override");
  EXPECT_EQ(remedy_of({"model.some_knb=3"}), "did you mean some_knob=...?");
  EXPECT_EQ(rules_of({"whole_number=3"}), "cli.unknown-override");  // no knob
  EXPECT_EQ(rules_of({"--one", "fuse"}), "cli.unknown-choice");
  EXPECT_EQ(remedy_of({"--one", "fuse"}), "did you mean fused?");
  EXPECT_EQ(rules_of({"--one", "both"}), "cli.unknown-choice");
  EXPECT_EQ(rules_of({"word"}), "cli.unexpected-argument");
}

TEST(CommandLine, EveryComplaintIsToldAtOnce) {
  EXPECT_EQ(rules_of({"--unknwon", "--whole", "x", "--real", "y", "stray"}),
            "cli.unknown-flag cli.not-a-number cli.not-a-number");
  EXPECT_EQ(rules_of({"stray", "--seed", "-1", "--maybe-whole", "1.5"}),
            "cli.unexpected-argument cli.not-a-number cli.not-a-number");
}

TEST(CommandLine, AFlagNeedsItsValueOnce) {
  EXPECT_EQ(rules_of({"--text"}), "cli.malformed");
  EXPECT_EQ(rules_of({"--text", ""}), "cli.missing-value");
  EXPECT_EQ(rules_of({"--text", "--on"}), "cli.missing-value");
  EXPECT_EQ(rules_of({"--text", "a", "--text", "b"}), "cli.given-twice");
  EXPECT_EQ(rules_of({"--on", "--on"}), "");  // a switch is on, however often
}

TEST(CommandLine, HelpNamesEveryFlagItsDefaultAndAnExample) {
  Everything e;
  const Reading reading = e.read({"--whole", "x", "--help"});
  ASSERT_TRUE(reading.help);
  for (const char* part : {"refrain try", "Tries.", "--whole-number", "[5]", "[word]", "Words",
                           "[fused]", "Examples:", "--some-list"}) {
    EXPECT_NE(reading.help->find(part), std::string::npos) << part;
  }
}

TEST(CommandLine, RandomArgumentsAreReadOrRefused) {
  std::mt19937 random(99);
  const Words pieces = {"--whole",
                        "--some-list",
                        "--",
                        "-",
                        "=",
                        "some_knob=",
                        "[",
                        "]",
                        "3",
                        "--on=maybe",
                        "--on",
                        "--text",
                        "",
                        "=x",
                        "--=",
                        "-9",
                        "--some-list=[a",
                        "\xff\xfe",
                        "@file",
                        "--help=3",
                        "--one"};
  for (int round = 0; round < 5000; ++round) {
    Words arguments;
    for (size_t n = random() % 6; n > 0; --n) arguments.push_back(pieces[random() % pieces.size()]);
    Everything e;
    EXPECT_NO_THROW(e.read(arguments));
  }
}

}  // namespace
}  // namespace refrain::cli
