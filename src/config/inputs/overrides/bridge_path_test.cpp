#include "config/inputs/overrides/bridge_path.h"

#include <gtest/gtest.h>

#include "config/inputs/testing/outcome.h"
#include "config/knobs/knob_table.h"

namespace refrain::config {
namespace {

TEST(KnobName, TheModelsFieldsArePlainAndOthersKeepADot) {
  EXPECT_EQ(knob_name("model.x"), "x");
  EXPECT_EQ(knob_name("cfg.model.x"), "x");
  EXPECT_EQ(knob_name("cfg.x"), "x");
  EXPECT_EQ(knob_name("model.config.x"), "x");
  EXPECT_EQ(knob_name("train.micro_batch_size"), "micro_batch_size");
  EXPECT_EQ(knob_name("cfg.train.global_batch_size"), "global_batch_size");
  EXPECT_EQ(knob_name("dataset.sequence_length"), "seq_length");
  EXPECT_EQ(knob_name("dataset.seq_length"), "seq_length");
  EXPECT_EQ(knob_name("comm_overlap.overlap_moe_expert_parallel_comm"),
            "overlap_moe_expert_parallel_comm");
  EXPECT_EQ(knob_name("comm_overlap.delay_wgrad_compute"), "delay_wgrad_compute");
  EXPECT_EQ(knob_name("mixed_precision.fp8_param_gather"), "fp8_param");
  EXPECT_EQ(knob_name("optimizer.optimizer_cpu_offload"), "optimizer.optimizer_cpu_offload");
  EXPECT_EQ(knob_name("train.train_iters"), "train.train_iters");
}

TEST(KnobName, APartOfTheConfigurationAndAProvidersFieldAreNoKnobs) {
  for (const char* path : {"peft", "cfg.peft"}) EXPECT_EQ(knob_name(path), "cfg.peft") << path;
  for (const char* path : {"vocab_size", "model.vocab_size", "cfg.model.vocab_size"}) {
    EXPECT_EQ(knob_name(path), "model.vocab_size") << path;
  }
  EXPECT_EQ(knob_name("model.peft"), "peft");
  // A field that few models have is one only where the model is named.
  EXPECT_EQ(knob_name("model.freeze_vision_model"), "model.freeze_vision_model");
  EXPECT_EQ(knob_name("freeze_vision_model"), "freeze_vision_model");
}

TEST(KnobName, IsItsOwnNameOnceMore) {
  for (const char* path : {"x", "peft", "vocab_size", "model.vocab_size", "train.train_iters"}) {
    const std::string name = knob_name(path);
    EXPECT_EQ(knob_name(name), name) << path;
  }
}

TEST(KnobName, EveryKnobHasItsPlainName) {
  for (const Knob& knob : knob_table()) {
    EXPECT_EQ(knob_name(knob.name), knob.name);
    EXPECT_EQ(knob_name("model." + std::string(knob.name)), knob.name);
  }
}

TEST(UnknownPart, IsTheFirstOfSeveralNamesThatTheConfigurationDoesNotHave) {
  for (const char* path : {"x", "model.x", "cfg.model.x", "train.x", "cfg.x", "model"}) {
    EXPECT_EQ(unknown_part(path), std::nullopt) << path;
  }
  EXPECT_EQ(unknown_part("modle.x"), "modle");
  EXPECT_EQ(unknown_part("cfg.modle.x.y"), "modle");
  EXPECT_EQ(nearest_part("modle"), "model");
  EXPECT_EQ(nearest_part("optimzer"), "optimizer");
}

TEST(IsKnobPath, KnowsNamesBetweenDots) {
  for (const char* path : {"x", "a.b", "a-b", "_y9", "a.0"})
    EXPECT_TRUE(is_knob_path(path)) << path;
  for (const char* path : {"", ".", "a.", ".a", "a..b", "-a", "a.-b", "a b", "a[0]", "a@b"}) {
    EXPECT_FALSE(is_knob_path(path)) << path;
  }
}

std::string read(std::string_view path, Value value) {
  return outcome(assignments_at(path, std::move(value), {}, {"t", path}));
}

TEST(AssignmentsAt, MixedPrecisionByNameSetsTheModelsFields) {
  EXPECT_EQ(read("mixed_precision", "bf16_mixed"),
            "bf16=true fp16=false pipeline_dtype=bfloat16 fp8=null");
  EXPECT_EQ(read("cfg.mixed_precision", "fp16-mixed"),
            "bf16=false fp16=true pipeline_dtype=float16 fp8=null");
  EXPECT_EQ(read("mixed_precision", "nemotron_h_bf16_with_fp8_current_scaling_mixed"),
            "bf16=true fp16=false pipeline_dtype=bfloat16 fp8=hybrid fp8_recipe=tensorwise "
            "fp8_param=true first_last_layers_bf16=true num_layers_at_start_in_bf16=2 "
            "num_layers_at_end_in_bf16=2");
  EXPECT_EQ(read("mixed_precision", nullptr), "cfg.mixed_precision=null");
  EXPECT_EQ(read("x", "bf16_mixed"), "x=bf16_mixed");
}

TEST(AssignmentsAt, ALayoutOfListsIsItsText) {
  const auto layout = [](const char* stages) {
    return read("model.pipeline_model_parallel_layout", Value::parse(stages));
  };
  const std::string knob = "pipeline_model_parallel_layout=";
  EXPECT_EQ(layout(R"([["embedding","decoder"],["decoder","mtp","loss"]])"), knob + "'Et|tmL'");
  EXPECT_EQ(layout(R"([["embedding"],[],["decoder","decoder"],["loss"]])"), knob + "'E||tt|L'");
  EXPECT_EQ(layout(R"([["embedding"],["decodr"]])"), knob + "[[embedding],[decodr]]");
  EXPECT_EQ(layout(R"(["embedding"])"), knob + "[embedding]");
  EXPECT_EQ(layout("[]"), knob + "[]");
  EXPECT_EQ(layout(R"("Et|tL")"), knob + "'Et|tL'");
}

TEST(AssignmentsAt, AnUnknownPrecisionGetsTheNearest) {
  const auto unknown = assignments_at("mixed_precision", "bf16_with_mxfp_mixed", {}, {"t", ""});
  EXPECT_EQ(outcome(unknown), "!t.unknown-precision");
  EXPECT_NE(unknown.findings[0].remedy.find("bf16_with_mxfp8_mixed?"), std::string::npos);
  EXPECT_EQ(read("mixed_precision", std::string(1 << 16, 'x')), "!t.unknown-precision");
}

}  // namespace
}  // namespace refrain::config
