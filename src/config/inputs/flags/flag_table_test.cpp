#include "config/inputs/flags/flag_table.h"

#include <gtest/gtest.h>

#include <set>

#include "config/inputs/flags/derived_flag.h"
#include "config/inputs/flags/flags.h"
#include "config/inputs/flags/megatron_flags.h"
#include "config/knobs/knob_table.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

TEST(FlagTable, SpellingsAreThereOnceAndEffectsAreReached) {
  std::set<std::string> seen;
  for (const FlagRow& row : flag_table()) {
    for (const std::string& spelling : split(row.spellings, ',')) {
      EXPECT_TRUE(is_flag(spelling)) << spelling;
      EXPECT_TRUE(seen.insert(spelling).second) << spelling;
      EXPECT_EQ(find_flag(spelling), &row);
    }
    for (const FlagEffect& effect : row.effects) EXPECT_LE(effect.since, effect.until);
  }
  EXPECT_EQ(find_flag("--recompute-granularity"), nullptr);
}

TEST(FlagTable, WhatAFlagNeedsIsAFlag) {
  for (const FlagRow& row : flag_table()) {
    if (row.needs.empty()) continue;
    EXPECT_NE(find_flag(row.needs), nullptr) << row.spellings;
  }
}

TEST(FlagTable, ADerivedFlagHasARow) {
  for (const char* flag :
       {"--num-layers-per-virtual-pipeline-stage", "--num-virtual-stages-per-pipeline-rank",
        "--pipeline-model-parallel-layout", "--sequence-parallel", "--first_k_dense_replace"}) {
    EXPECT_NE(find_derived_flag(flag), nullptr) << flag;
    EXPECT_NE(find_flag(flag), nullptr) << flag;
  }
  EXPECT_EQ(find_derived_flag("--num-layers"), nullptr);
}

TEST(FlagTable, AFlagThatSometimesSetsAKnobSetsOne) {
  for (const FlagRow& row : flag_table()) {
    EXPECT_TRUE(!row.sometimes || row.effects.size() == 1) << row.spellings;
  }
}

TEST(MegatronFlags, AreKnownByNameOrFamily) {
  for (const char* flag :
       {"--lr", "--lr-decay-style", "--no-load-optim", "--use-mcore-models", "--min-lr",
        "--disable-gloo-process-groups", "--tokenizer-type", "--no-weight-decay-cond-type"}) {
    EXPECT_TRUE(is_megatron_flag(flag)) << flag;
  }
  for (const char* flag : {"--lrx", "--recompute-granularity", "-lr", "lr", "", "--", "--no-",
                           "--use", "--lr_decay_style"}) {
    EXPECT_FALSE(is_megatron_flag(flag)) << flag;
  }
  EXPECT_FALSE(is_megatron_flag("--lr-" + std::string(100, 'x')));
}

}  // namespace
}  // namespace refrain::config
