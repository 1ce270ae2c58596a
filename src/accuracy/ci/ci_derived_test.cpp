// What of a row follows from other columns: held against tests/cases/memory_rows/derived.csv, which
// has the same numbers from an independent reading of the same rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "accuracy/ci/ci_row.h"

namespace refrain::accuracy {
namespace {

Table table_in(const std::string& name) {
  std::ifstream file(REFRAIN_SOURCE_DIR "/tests/cases/memory_rows/" + name, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return read_table(text.str()).value.value();
}

std::string layers_of_last_rank(const mcore::Run& run) {
  std::string text;
  for (int64_t stage = 0; stage < run.parallel.virtual_stages; ++stage) {
    const int64_t count = mcore::stage_layers(run, run.parallel.pipeline - 1, stage).count;
    text += (stage ? " " : "") + std::to_string(count);
  }
  return text;
}

std::string_view to_word(mcore::AttentionKernel kernel) {
  switch (kernel) {
    case mcore::AttentionKernel::kUnfused:
      return "unfused";
    case mcore::AttentionKernel::kFlash:
      return "flash";
    case mcore::AttentionKernel::kCudnn:
      return "fused";
  }
  return "";
}

std::string_view to_word(mcore::HeadLoss loss) {
  switch (loss) {
    case mcore::HeadLoss::kUnfused:
      return "unfused";
    case mcore::HeadLoss::kNative:
      return "native";
    case mcore::HeadLoss::kTransformerEngine:
      return "te";
  }
  return "";
}

TEST(CiDerived, EveryRowGivesTheNumbersOfAnIndependentReading) {
  const Table rows = table_in("rows.csv"), derived = table_in("derived.csv");
  ASSERT_EQ(rows.rows.size(), derived.rows.size());
  ASSERT_GE(rows.rows.size(), 38u);
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const Checked<Sample> sample = read_ci_row(rows, i);
    ASSERT_TRUE(sample.value) << to_text(sample.findings);
    const mcore::Run& run = sample.value->run;
    RowReader expected(derived, i);
    SCOPED_TRACE(sample.value->name);
    const auto number = [&](std::string_view column) {
      return expected.whole(column, {.least = 0});
    };
    EXPECT_EQ(run.parallel.data, number("data"));
    EXPECT_EQ(mcore::num_micro_batches(run), number("micro_batches"));
    EXPECT_EQ(mcore::padded_vocab(run), number("vocab"));
    EXPECT_EQ(layers_of_last_rank(run), expected.text("last_rank_layers"));
    EXPECT_EQ(run.model.ffn, number("ffn"));
    EXPECT_EQ(run.model.attention.head_dim, number("head_dim"));
    EXPECT_EQ(run.model.attention.num_query_groups, number("query_groups"));
    EXPECT_EQ(run.numerics.gradient_bytes, number("gradient_bytes"));
    EXPECT_EQ(to_word(run.place.attention), expected.text("attention"));
    EXPECT_EQ(run.place.cublas_32mib, number("cublas_32mib") == 1);
    EXPECT_EQ(run.place.old_recording, number("old_recording") == 1);
    EXPECT_EQ(run.numerics.softmax_fp32, number("softmax_fp32") == 1);
    EXPECT_EQ(to_word(run.place.head_loss), expected.text("head_loss"));
    EXPECT_EQ(run.place.deferred_head_gradients, number("deferred"));
    const auto with_experts = std::count_if(
        run.model.layers.begin(), run.model.layers.end(), [](const mcore::LayerKind& kind) {
          return kind.feed_forward == mcore::FeedForward::kExperts;
        });
    EXPECT_EQ(with_experts, number("expert_layers"));
    EXPECT_EQ(run.model.experts.ffn, number("expert_ffn"));
    EXPECT_EQ(run.parallel.expert_tensor, number("expert_tensor"));
    const int64_t group = run.parallel.group_size ? run.parallel.group_size : run.parallel.pipeline;
    EXPECT_EQ(group, number("group_size"));
    EXPECT_TRUE(expected.findings().empty());
  }
}

}  // namespace
}  // namespace refrain::accuracy
