#include "config/inputs/trees/file_tree.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

TEST(FileTree, JsonAndYamlMakeTheSameTree) {
  const auto json = read_json_tree(R"({"a": 1, "b": [true, null, "x"], "c": {"d": 1.5}})", "f");
  const auto yaml = read_yaml_tree("a: 1\nb: [true, null, x]\nc:\n  d: 1.5\n", "f");
  ASSERT_TRUE(json.value && yaml.value);
  EXPECT_EQ(value_of(*json.value), value_of(*yaml.value));
  EXPECT_EQ(value_of(*json.value).dump(), R"({"a":1,"b":[true,null,"x"],"c":{"d":1.5}})");
}

TEST(FileTree, AnItemIsFoundByItsKey) {
  const auto tree = read_yaml_tree("a: 1\nb: 2\n", "f");
  ASSERT_TRUE(tree.value);
  ASSERT_NE(find_item(*tree.value, "b"), nullptr);
  EXPECT_EQ(find_item(*tree.value, "b")->scalar, 2);
  EXPECT_EQ(find_item(*tree.value, "b")->line, 2);
  EXPECT_EQ(find_item(*tree.value, "c"), nullptr);
  EXPECT_EQ(find_item(*find_item(*tree.value, "a"), "a"), nullptr);
}

TEST(TreeBuilder, ACopyCountsAsMuchAsWhatItCopies) {
  TreeBuilder tree("f");
  tree.begin(FileNode::Kind::kList, 1);
  tree.begin(FileNode::Kind::kList, 1);
  for (int i = 0; i < 999; ++i) tree.scalar({.scalar = i});
  tree.end();
  const FileNode thousand = *tree.last();
  for (int i = 0; i < 98; ++i) tree.copy(thousand, 1);
  EXPECT_FALSE(tree.stopped());  // 1 + 99 * 1000
  tree.copy(thousand, 1);
  EXPECT_TRUE(tree.stopped());
  EXPECT_EQ(tree.finish().findings.at(0).rule, "file.too-many-values");
}

}  // namespace
}  // namespace refrain::config
