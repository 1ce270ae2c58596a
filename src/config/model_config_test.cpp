#include "config/model_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

namespace refrain::config {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLlamaText =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 32,
        "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100})";

std::string first_rule(const Findings& findings) {
  return findings.empty() ? "" : findings[0].rule;
}

ModelConfig named(const std::string& name) { return find_model(name).value.value(); }

/// A folder of its own for one test.
class FindModelFile : public testing::Test {
 protected:
  FindModelFile() : folder_(fs::temp_directory_path() / ("refrain_model_" + test_name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FindModelFile() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  static std::string test_name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  fs::path folder_;
};

TEST(NamedModels, AllPassTheirOwnRulesAndHaveDifferentNames) {
  std::set<std::string> names;
  for (const ModelConfig& model : named_models()) {
    EXPECT_TRUE(validate(model).empty()) << model.name << to_text(validate(model));
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    EXPECT_EQ(model.num_heads * model.head_dim, model.hidden) << model.name;
    EXPECT_EQ(find_model(model.name).value, model);
  }
  for (const char* name :
       {"gpt2-124m", "gpt-tiny", "llama-tiny", "qwen-tiny", "llama-15m", "llama-60m", "llama-160m",
        "bench-s", "bench-m", "llama3-8b", "llama3-70b", "llama3-405b"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

/// Weights of a model by the textbook, to hold the table against published counts.
int64_t num_weights(const ModelConfig& m) {
  const int64_t heads = (m.num_heads + 2 * m.num_kv_heads) * m.head_dim;
  const bool gated = m.activation == ActivationKind::kSwiglu;
  const int64_t norm = m.norm == NormKind::kLayerNorm ? 2 * m.hidden : m.hidden;
  int64_t layer = m.hidden * heads + m.num_heads * m.head_dim * m.hidden +
                  (gated ? 3 : 2) * m.hidden * m.ffn_hidden + 2 * norm;
  if (m.qkv_bias) layer += heads;
  if (m.linear_bias) layer += 2 * m.hidden + m.ffn_hidden;
  int64_t total = m.num_layers * layer + m.vocab * m.hidden + norm;
  if (!m.tied_embeddings) total += m.vocab * m.hidden;
  if (m.position == PositionKind::kLearned) total += m.max_positions * m.hidden;
  return total;
}

TEST(NamedModels, PublishedModelsHaveTheirPublishedParameterCounts) {
  EXPECT_EQ(num_weights(named("gpt2-124m")), 124439808);
  EXPECT_EQ(num_weights(named("llama3-8b")), 8030261248);
  EXPECT_EQ(num_weights(named("llama3-70b")), 70553706496);
  EXPECT_EQ(num_weights(named("llama3-405b")), 405853388800);
}

TEST(NamedModels, TheNumberInANameIsTheNumberOfParameters) {
  const auto near = [](const char* name, double millions) {
    EXPECT_NEAR(static_cast<double>(num_weights(named(name))) / 1e6, millions, 0.1 * millions)
        << name;
  };
  near("llama-15m", 15);
  near("llama-60m", 60);
  near("llama-160m", 160);
}

TEST(FindModel, AnUnknownNameGetsTheNearest) {
  const auto found = find_model("llama-16m");
  EXPECT_FALSE(found.value);
  EXPECT_EQ(first_rule(found.findings), "model.unknown-name");
  EXPECT_NE(found.findings[0].remedy.find("llama-15m"), std::string::npos);
  EXPECT_EQ(first_rule(find_model("").findings), "model.unknown-name");
  EXPECT_EQ(first_rule(find_model(std::string(5000, 'x')).findings), "model.unknown-name");
}

TEST_F(FindModelFile, IsReadFromItsPathAndNamedByIt) {
  const std::string path = written("config.json", kLlamaText);
  const auto found = find_model(path);
  ASSERT_TRUE(found.value) << to_text(found.findings);
  EXPECT_EQ(found.value->name, path);
  EXPECT_EQ(found.value->hidden, 32);
}

TEST_F(FindModelFile, ThatIsNotThereOrNoFileIsAFinding) {
  EXPECT_EQ(first_rule(find_model(path("none.json")).findings), "model.no-such-file");
  EXPECT_EQ(first_rule(find_model(path("")).findings), "model.is-a-directory");
  EXPECT_EQ(first_rule(find_model("/dev/null").findings), "model.not-a-file");
  ASSERT_EQ(mkfifo(path("pipe.json").c_str(), 0600), 0);
  EXPECT_EQ(first_rule(find_model(path("pipe.json")).findings), "model.not-a-file");
  EXPECT_EQ(first_rule(find_model(std::string(100000, 'x') + ".json").findings),
            "model.no-such-file");
}

TEST_F(FindModelFile, ThatIsFarTooLargeIsNotRead) {
  const std::string path = written("large.json", "{}");
  fs::resize_file(path, uintmax_t{16} << 20);
  EXPECT_EQ(first_rule(find_model(path).findings), "model.broken-json");  // read: it is mostly NUL
  fs::resize_file(path, (uintmax_t{16} << 20) + 1);
  EXPECT_EQ(first_rule(find_model(path).findings), "model.file-too-large");
}

TEST_F(FindModelFile, ThatMayNotBeReadIsAFinding) {
  const std::string path = written("secret.json", kLlamaText);
  fs::permissions(path, fs::perms::none);
  if (std::ifstream(path).good()) GTEST_SKIP() << "the superuser may read everything";
  EXPECT_EQ(first_rule(find_model(path).findings), "model.unreadable-file");
}

TEST(ModelConfig, SizesHaveBothEnds) {
  const struct {
    int64_t ModelConfig::*size;
    int64_t most;
  } rows[] = {{&ModelConfig::num_layers, 10000},
              {&ModelConfig::hidden, int64_t{1} << 24},
              {&ModelConfig::ffn_hidden, int64_t{1} << 24},
              {&ModelConfig::head_dim, int64_t{1} << 16},
              {&ModelConfig::vocab, INT32_MAX},
              {&ModelConfig::max_positions, INT32_MAX}};
  for (const auto& row : rows) {
    ModelConfig model = named("llama-tiny");
    model.*row.size = row.most;
    EXPECT_EQ(first_rule(validate(model)), "");
    for (const int64_t size : {row.most + 1, int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      model.*row.size = size;
      EXPECT_EQ(first_rule(validate(model)), "model.size-out-of-range") << size;
    }
  }
}

TEST(ModelConfig, KeyValueHeadsDivideHeads) {
  ModelConfig model = named("llama-tiny");  // four heads
  for (const int64_t heads : {1, 2, 4}) {
    model.num_kv_heads = heads;
    EXPECT_EQ(first_rule(validate(model)), "") << heads;
  }
  for (const int64_t heads : {3, 5, 8}) {
    model.num_kv_heads = heads;
    EXPECT_EQ(first_rule(validate(model)), "model.kv-heads-divide-heads") << heads;
  }
  model.num_kv_heads = 0;
  EXPECT_EQ(first_rule(validate(model)), "model.size-out-of-range");
}

TEST(ModelConfig, RopeNeedsPairs) {
  ModelConfig model = named("llama-tiny");
  model.head_dim = 15;
  EXPECT_EQ(first_rule(validate(model)), "model.rope-needs-even-head-dim");
  model.position = PositionKind::kLearned;
  EXPECT_EQ(first_rule(validate(model)), "");
}

TEST(ModelConfig, ConstantsArePositiveAndFinite) {
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    ModelConfig model = named("llama-tiny");
    model.norm_eps = value;
    EXPECT_EQ(first_rule(validate(model)), "model.norm-eps") << value;
    model = named("llama-tiny");
    model.rope_base = value;
    EXPECT_EQ(first_rule(validate(model)), "model.rope-base") << value;
    model.position = PositionKind::kLearned;  // has no base
    EXPECT_EQ(first_rule(validate(model)), "") << value;
  }
}

}  // namespace
}  // namespace refrain::config
