#include "base/finding.h"

#include <gtest/gtest.h>

namespace refrain {
namespace {

TEST(Finding, OnlyErrorsReject) {
  EXPECT_FALSE(rejects({}));
  EXPECT_FALSE(rejects({{"a.note", "m", "r", Severity::kNote}}));
  EXPECT_TRUE(rejects({{"a.note", "m", "r", Severity::kNote}, {"an.error", "m", "r"}}));
}

TEST(Finding, PrintsRuleMessageAndRemedyAndLeavesOutAnEmptyRemedy) {
  EXPECT_EQ(to_text({{"a.rule", "must hold: 3", "do this"}, {"b.rule", "m", "", Severity::kNote}}),
            "error[a.rule]: must hold: 3\n  remedy: do this\nnote[b.rule]: m\n");
}

TEST(Nearest, FindsTheClosestWithinReachAndNothingBeyond) {
  const std::vector<std::string> words = {"core_attn", "layernorm", "mlp"};
  EXPECT_EQ(nearest("core_atn", words), "core_attn");
  EXPECT_EQ(nearest("layer_norm", words), "layernorm");
  EXPECT_EQ(nearest("mlpxx", words), "mlp");          // distance 2: within reach
  EXPECT_EQ(nearest("mlpxxx", words), std::nullopt);  // 3: beyond, for a short word
  EXPECT_EQ(nearest("zzzzzzzzzz", words), std::nullopt);
  EXPECT_EQ(nearest("mlp", {}), std::nullopt);
  const std::string long_word(101, 'a');
  EXPECT_EQ(nearest(long_word, {long_word}), std::nullopt);  // nobody mistypes a hundred letters
}

}  // namespace
}  // namespace refrain
