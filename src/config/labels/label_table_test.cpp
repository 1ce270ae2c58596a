#include "config/labels/label_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace refrain::config {
namespace {

TEST(LabelTable, AListHasAWordOnce) {
  std::set<std::pair<LabelList, std::string_view>> seen;
  for (const ModuleLabel& label : label_table()) {
    EXPECT_TRUE(seen.insert({label.list, label.name}).second) << label.name;
  }
}

TEST(LabelTable, EveryLabelSaysWhatItFreesAndRecomputeWhatItReplays) {
  for (const ModuleLabel& label : label_table()) {
    const bool recompute = label.list == LabelList::kRecompute;
    EXPECT_FALSE(label.since.empty()) << label.name;
    EXPECT_FALSE(label.meaning.empty()) << label.name;
    EXPECT_FALSE(label.freed.empty()) << label.name;
    EXPECT_EQ(label.kept.empty(), !recompute) << label.name;
    EXPECT_EQ(label.replayed.empty(), !recompute) << label.name;
  }
}

TEST(LabelTable, OneWordMayStandInBothLists) {
  const ModuleLabel* recomputed = find_label(LabelList::kRecompute, "moe_act");
  const ModuleLabel* offloaded = find_label(LabelList::kOffload, "moe_act");
  ASSERT_NE(recomputed, nullptr);
  ASSERT_NE(offloaded, nullptr);
  EXPECT_NE(recomputed, offloaded);
  EXPECT_EQ(find_label(LabelList::kOffload, "mlp"), nullptr);
  EXPECT_EQ(find_label(LabelList::kRecompute, "expert_fc1"), nullptr);
}

TEST(LabelTable, PartsOfAnExpertAreThoseThatAreOffloaded) {
  std::set<std::string_view> inside;
  for (const ModuleLabel& label : label_table()) {
    if (is_inside_experts(label)) inside.insert(label.name);
  }
  EXPECT_EQ(inside, (std::set<std::string_view>{"expert_fc1", "moe_act", "fused_group_mlp"}));
}

}  // namespace
}  // namespace refrain::config
