#include "config/inputs/files/config_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/inputs/testing/outcome.h"
#include "config/inputs/testing/random_pieces.h"
#include "config/inputs/testing/temp_file.h"

namespace refrain::config {
namespace {

std::string yaml(std::string_view text) { return outcome(read_config_text(text, "c.yaml")); }
std::string json(std::string_view text) { return outcome(read_config_text(text, "c.json")); }
std::string yaml_notes(std::string_view text) {
  return rules_of(read_config_text(text, "c.yaml").findings);
}

TEST(ConfigFile, AFlatMapHoldsKnobs) {
  EXPECT_EQ(yaml("recompute_granularity: selective\nrecompute_modules: [core_attn, mlp]\n"
                 "tensor_model_parallel_size: 2\nhidden_dropout: 0.0\nsequence_parallel: true\n"),
            "recompute_granularity=selective recompute_modules=[core_attn,mlp] "
            "tensor_model_parallel_size=2 hidden_dropout=0.0 sequence_parallel=true");
  EXPECT_EQ(json(R"({"a": 1, "b": [true, null, "x"], "c": 1.5, "d": null, "e": []})"),
            "a=1 b=[true,null,x] c=1.5 d=null e=[]");
}

TEST(ConfigFile, NullEmptyAndAbsentAreThreeThings) {
  EXPECT_EQ(yaml("a: null\nb: ~\nc:\nd: []\n"), "a=null b=null c=null d=[]");
  EXPECT_EQ(yaml(""), "");
  EXPECT_EQ(yaml_notes(""), "file.empty");
  EXPECT_EQ(json("{}"), "");
}

TEST(ConfigFile, ThePlaceIsTheLineWhereItIsKnown) {
  const auto in_yaml = read_config_text("# first\na: 1\nb:\n  - x\n  - y\n", "dir/c.yaml");
  ASSERT_TRUE(in_yaml.value);
  EXPECT_EQ(in_yaml.value->at(0).source, (Source{Origin::kFile, "dir/c.yaml:2"}));
  EXPECT_EQ(in_yaml.value->at(1).source, (Source{Origin::kFile, "dir/c.yaml:4"}));
  const auto in_json = read_config_text("{\n\"a\": 1}", "c.json");
  ASSERT_TRUE(in_json.value);
  EXPECT_EQ(in_json.value->at(0).source, (Source{Origin::kFile, "c.json"}));
}

TEST(ConfigFile, ABridgeConfigurationIsReadByItsPaths) {
  EXPECT_EQ(yaml("_target_: megatron.bridge.training.config.ConfigContainer\n"
                 "model:\n"
                 "  _target_: megatron.bridge.models.GPTModelProvider\n"
                 "  recompute_granularity: full\n"
                 "  activation_func: {_target_: torch.nn.functional.silu, _call_: false}\n"
                 "  pipeline_dtype: {_target_: torch.bfloat16, _call_: false}\n"
                 "  init_method: {_target_: torch.nn.init.normal_, _partial_: true, std: 0.02}\n"
                 "train: {micro_batch_size: 1, train_iters: 50}\n"
                 "dataset: {sequence_length: 4096}\n"),
            "recompute_granularity=full activation_func=silu pipeline_dtype=bfloat16 "
            "micro_batch_size=1 seq_length=4096");
  EXPECT_EQ(yaml_notes("model: {f: {_target_: x}}"), "file.not-a-knob");
  EXPECT_EQ(yaml("cfg: {model: {x: 1}}"), "x=1");
}

TEST(ConfigFile, WhatABridgeConfigurationHoldsBesideTheModelIsNotedOnce) {
  const std::string_view text =
      "model: {fp8: null, vocab_size: 128256}\n"
      "train: {train_iters: 50, eval_iters: 0}\n"
      "optimizer: {lr: 3.0e-4}\n"
      "comm_overlap: null\n"
      "peft: null\n";
  EXPECT_EQ(yaml(text), "fp8=null");
  const auto read = read_config_text(text, "c.yaml");
  ASSERT_EQ(rules_of(read.findings), "file.elsewhere");
  EXPECT_NE(read.findings[0].message.find("1 of optimizer, 1 of peft, 2 of train"),
            std::string::npos)
      << read.findings[0].message;
  const auto misspelt = read_config_text("modle: {fp8: null}", "c.yaml");
  EXPECT_NE(misspelt.findings.at(0).message.find("modle, which Megatron-Bridge does not have"),
            std::string::npos);
}

TEST(ConfigFile, MixedPrecisionByNameSetsTheModelsFields) {
  EXPECT_EQ(yaml("mixed_precision: bf16_mixed"),
            "bf16=true fp16=false pipeline_dtype=bfloat16 fp8=null");
  EXPECT_EQ(yaml("mixed_precision: {fp8: hybrid, fp8_recipe: delayed, grad_reduce_in_fp32: true}"),
            "fp8=hybrid fp8_recipe=delayed");
  EXPECT_EQ(yaml("mixed_precision: bf16_mixd"), "!file.unknown-precision");
}

TEST(ConfigFile, AHuggingFaceConfigIsReadAsTheModelsKnobs) {
  const std::string_view text = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
      "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100,
      "intermediate_size": 96})";
  EXPECT_TRUE(json(text).starts_with("num_layers=2 hidden_size=64 ffn_hidden_size=96"))
      << json(text);
  EXPECT_EQ(json(R"({"model_type": "gpt", "num_layers": 2})"), "model_type=gpt num_layers=2");
  EXPECT_EQ(json(R"({"model_type": "llama", "num_hidden_layers": -1})").substr(0, 7), "!model.");
}

TEST(ConfigFile, MegatronsTestFilesHoldFlags) {
  EXPECT_EQ(yaml("ENV_VARS:\n  NCCL_ALGO: Ring\n"
                 "MODEL_ARGS:\n"
                 "  --num-layers: 24\n"
                 "  --swiglu: true\n"
                 "  --sequence-parallel: false\n"
                 "  --recompute-granularity: selective\n"
                 "  --recompute-modules: \"[layernorm moe_act]\"\n"
                 "  --offload-modules: [a, b]\n"
                 "  --moe-layer-freq: ([0]*1+[1]*2)\n"
                 "  --hierarchical-context-parallel-sizes: \"[2 2]\"\n"
                 "  --pipeline-model-parallel-layout: \"Et*7|t*7mL\"\n"
                 "  +model.x: 7\n"
                 "TEST_TYPE: regular\n"),
            "num_layers=24 gated_linear_unit=true activation_func=silu "
            "recompute_granularity=selective recompute_modules=[layernorm,moe_act] "
            "offload_modules=[a,b] moe_layer_freq=[0,1,1] "
            "hierarchical_context_parallel_sizes=['2','2'] "
            "pipeline_model_parallel_layout='Et*7|t*7mL' virtual_pipeline_model_parallel_size=2 "
            "overlap_p2p_comm=true batch_p2p_comm=false x=7");
  EXPECT_EQ(yaml_notes("MODEL_ARGS:\n  --x: false\n"), "file.flag-off");
  EXPECT_EQ(yaml("MODEL_ARGS:\n  --recompute-modules: []\n"), "recompute_modules=[]");
  EXPECT_EQ(yaml("MODEL_ARGS:\nTEST_TYPE: regular\n"), "");
  EXPECT_EQ(yaml_notes("MODEL_ARGS:\nTEST_TYPE: regular\n"), "file.empty");
}

TEST(ConfigFile, WordsOfMegatronsTestFilesAreThoseThatTheShellLeaves) {
  EXPECT_EQ(yaml("MODEL_ARGS:\n  --foo: Et*2\\\\|\\(tt\\\\|\\)*5t\n"), "foo='Et*2|(tt|)*5t'");
  EXPECT_EQ(yaml("MODEL_ARGS:\n  --foo: a\\ b\n"), "foo='a\\ b'");
  EXPECT_EQ(yaml("MODEL_ARGS:\n  model.config.fp8: \"null\"\n  model.config.bf16: \"True\"\n"
                 "  model.config.x: '[a'\n"),
            "fp8=null bf16=true x='[a'");
  EXPECT_EQ(yaml("model: {fp8: \"null\"}"), "fp8='null'");
}

TEST(ConfigFile, FlagsInFilesKeepTheRulesOfCommandLines) {
  EXPECT_EQ(yaml("MODEL_ARGS:\n  --recompute-activations: true\n  --recompute-granularity: full\n"),
            "recompute_granularity=full recompute_granularity=selective");
  const auto wrong = read_config_text("MODEL_ARGS:\n  --num-experts: many\n", "c.yaml");
  EXPECT_EQ(outcome(wrong), "!flag.not-a-number");
  EXPECT_TRUE(wrong.findings[0].message.starts_with("c.yaml:2: ")) << wrong.findings[0].message;
  EXPECT_EQ(yaml("--recompute_modules: a,b"),
            "recompute_modules=[a,b] recompute_granularity=selective");
  EXPECT_EQ(outcome(read_config_text("--recompute_modules: a", "c.yaml",
                                     {.harness = HarnessRevision::kV0_2})),
            "recompute_modules=[a]");
}

TEST(ConfigFile, AnObjectWithKwargsIsThose) {
  EXPECT_EQ(json(R"({"id": "1", "kwargs": {"num_layers": 4, "fp8": null}, "verdict": "accept"})"),
            "num_layers=4 fp8=null");
  EXPECT_EQ(json(R"({"kwargs": 3})"), "kwargs=3");
}

TEST(ConfigFile, ScalarsAreTypedWithTheirLine) {
  EXPECT_EQ(yaml("a: '1'\nb: \"true\"\nc: 'null'\nd: !!str 5\ne: !!int '6'\nf: yes\n"),
            "a='1' b='true' c='null' d='5' e=6 f=true");
  EXPECT_EQ(yaml("a: 9223372036854775808"), "!file.number-range");
  EXPECT_EQ(yaml_notes("a: None\nb: 010\nc: 'yes'\n"), "file.text-not-meant file.number-not-meant");
  const auto read = read_config_text("x: 1\na: None\n", "c.yaml");
  EXPECT_TRUE(read.findings.at(0).message.starts_with("c.yaml:2: ")) << read.findings[0].message;
}

TEST(ConfigFile, AKeyThatIsThereAgainCountsLastWithANote) {
  EXPECT_EQ(yaml("a: 1\nb: 2\na: 3\n"), "a=3 b=2");
  EXPECT_EQ(yaml_notes("a: 1\na: 3\n"), "file.duplicate-key");
  const auto in_json = read_config_text(R"({"a": 1, "a": {"b": 2}})", "c.json");
  EXPECT_EQ(outcome(in_json), "");
  EXPECT_EQ(rules_of(in_json.findings), "file.duplicate-key file.elsewhere");
}

TEST(ConfigFile, AnchorsAndMergesAreFollowed) {
  EXPECT_EQ(yaml("x: &m [a, b]\ny: *m\n"), "x=[a,b] y=[a,b]");
  EXPECT_EQ(yaml("base: &base {a: 1, b: 2}\nmodel:\n  b: 3\n  <<: *base\n"), "a=1 b=3");
  EXPECT_EQ(yaml("p: &p {a: 1}\nq: &q {a: 2, b: 2}\nmodel: {<<: [*p, *q]}\n"), "a=2 b=2 a=1");
  EXPECT_EQ(yaml("base: &b 3\nmodel: {<<: *b, x: 1}\n"), "!file.merge-not-a-map");
  EXPECT_EQ(yaml("model: {<<: [{a: 1}, 2]}\n"), "!file.merge-not-a-map");
  EXPECT_EQ(yaml("x: &m [a, *m]\n"), "!file.alias");
  EXPECT_EQ(yaml("x: *nobody\n"), "!file.malformed");
}

TEST(ConfigFile, WhatIsNoMapOrNotOneDocumentIsAFinding) {
  EXPECT_EQ(json("[1, 2]"), "!file.not-a-map");
  EXPECT_EQ(yaml("- a\n"), "!file.not-a-map");
  EXPECT_EQ(yaml("just text"), "!file.not-a-map");
  EXPECT_EQ(yaml("model: [a]"), "!file.not-a-map");
  EXPECT_EQ(yaml("cfg: {model: 3}"), "!file.not-a-map");
  EXPECT_EQ(yaml("model: null"), "");
  EXPECT_EQ(yaml("a: 1\n---\nb: 2\n"), "!file.several-documents");
  EXPECT_EQ(yaml("---\na: 1\n...\n"), "a=1");
  EXPECT_EQ(yaml("? [a]\n: 1\n"), "!file.key-not-text");
  EXPECT_EQ(yaml("a b: 1\n"), "");
  EXPECT_EQ(yaml_notes("a b: 1\n"), "file.not-a-knob");
}

TEST(ConfigFile, MalformedTextIsAFindingWithItsLine) {
  const auto in_json = read_config_text("{\n\"a\": 1,\n\"b\" 2}", "c.json");
  EXPECT_EQ(outcome(in_json), "!file.malformed");
  EXPECT_TRUE(in_json.findings[0].message.starts_with("c.json:3: ")) << in_json.findings[0].message;
  const auto in_yaml = read_config_text("a: 1\nb: [1, 2\nc: }\n", "c.yaml");
  EXPECT_EQ(outcome(in_yaml), "!file.malformed");
  EXPECT_TRUE(in_yaml.findings[0].message.starts_with("c.yaml:")) << in_yaml.findings[0].message;
  const auto with_tab = read_config_text("model:\n\ta: 1\n", "c.yaml");
  EXPECT_EQ(outcome(with_tab), "!file.malformed");
  EXPECT_NE(with_tab.findings[0].message.find("c.yaml:2: "), std::string::npos);
  EXPECT_NE(with_tab.findings[0].message.find("tab"), std::string::npos)
      << with_tab.findings[0].message;
  for (const char* text : {"", "{", "{\"a\":}", "{\"a\":1}}", "nul", "{\"a\":NaN}", "{'a':1}"}) {
    EXPECT_EQ(json(text), "!file.malformed") << text;
  }
  EXPECT_EQ(json("{\"a\": 1e999}"), "!file.malformed");
}

TEST(ConfigFile, WholeNumbersInJsonStopAtTheEndsOf64Bits) {
  EXPECT_EQ(json(R"({"a": 9223372036854775807})"), "a=9223372036854775807");
  EXPECT_EQ(json(R"({"a": 9223372036854775808})"), "!file.number-range");
  EXPECT_EQ(json(R"({"a": -9223372036854775808})"), "a=-9223372036854775808");
  EXPECT_EQ(json(R"({"a": 99999999999999999999})"), "!file.number-range");
}

TEST(ConfigFile, TextMustBeUtf8WithoutNulBytes) {
  EXPECT_EQ(yaml(std::string_view("a: \0b", 5)), "!file.not-text");
  EXPECT_EQ(json(std::string_view("{\"a\": \"\0\"}", 10)), "!file.not-text");
  EXPECT_EQ(yaml("a: \xff\n"), "!file.not-text");
  EXPECT_EQ(yaml("\xef\xbb\xbf"
                 "a: 1\n"),
            "a=1");
  EXPECT_EQ(json("\xef\xbb\xbf{\"a\": 1}"), "a=1");
}

TEST(ConfigFile, TheEndingOrTheFirstCharactersSayWhichLanguageItIs) {
  EXPECT_EQ(outcome(read_config_text("{\"a\": 1}", "-")), "a=1");
  EXPECT_EQ(outcome(read_config_text("{a: 1}", "-")), "a=1");
  EXPECT_EQ(outcome(read_config_text("a: 1", "-")), "a=1");
  EXPECT_EQ(outcome(read_config_text("{a: 1}", "c.json")), "!file.malformed");
  EXPECT_EQ(outcome(read_config_text("{\"a\": 1}", "c.yml")), "a=1");
}

std::string nested(std::string_view open, std::string_view close, int depth) {
  std::string text = "{\"a\": ";
  for (int i = 0; i < depth; ++i) text += open;
  for (int i = 0; i < depth; ++i) text += close;
  return text + "}";
}

TEST(ConfigFile, NestingAndNumberOfValuesAreBounded) {
  EXPECT_EQ(json(nested("[", "]", 63)), "a=" + std::string(63, '[') + std::string(63, ']'));
  EXPECT_EQ(json(nested("[", "]", 64)), "!file.too-deep");
  EXPECT_EQ(yaml(nested("[", "]", 64)), "!file.too-deep");
  EXPECT_EQ(yaml(nested("[", "]", 2000)), "!file.too-deep");
  EXPECT_EQ(json(nested("[", "]", 2000)), "!file.too-deep");
  std::string list = "{\"a\": [0";
  for (int i = 0; i < 99'996; ++i) list += ",0";
  EXPECT_TRUE(read_config_text(list + "]}", "c.json").value);
  EXPECT_EQ(json(list + ",0]}"), "!file.too-many-values");
}

TEST(ConfigFile, NumberOfKnobsIsBounded) {
  std::string knobs;
  for (int i = 0; i < 5000; ++i) knobs += "k" + std::to_string(i) + ": 0\n";
  EXPECT_EQ(read_config_text(knobs, "c.yaml").value->size(), 5000u);
  EXPECT_EQ(yaml(knobs + "more: 0\nmost: 0\n"), "!file.too-many-knobs");
  EXPECT_EQ(yaml(knobs + "--more: 0\n"), "!file.too-many-knobs");
}

TEST(ConfigFile, ALineOfManyBracketsIsRefusedBeforeItIsRead) {
  const std::string marks(399'998, ',');  // and two quotes
  EXPECT_TRUE(read_config_text("a: '" + marks + "'", "c.yaml").value);
  EXPECT_EQ(yaml("a: '" + marks + ",'"), "!file.too-many-values");
}

TEST(ConfigFile, AliasBombsAreBounded) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int n = 0; n < 9; ++n) bomb += "," + before;
    bomb += "]\n";
  }
  EXPECT_EQ(yaml(bomb), "!file.too-many-values");
}

TEST(ConfigFile, AFileIsReadUpToItsLimitAndAMissingOneIsAnError) {
  const TempFile file("limit.yaml", "a: 1\n");
  EXPECT_EQ(outcome(read_config_file(file.path())), "a=1");
  EXPECT_EQ(read_config_file(file.path()).value->at(0).source.place, file.path() + ":1");
  file.append("#" + std::string((16 << 20) - 6, 'x'));
  EXPECT_EQ(outcome(read_config_file(file.path())), "a=1");
  file.append("x");
  EXPECT_EQ(outcome(read_config_file(file.path())), "!file.too-large");
  EXPECT_THROW(read_config_file(file.path() + ".not_there"), Error);
  EXPECT_THROW(read_config_file(testing::TempDir()), Error);
}

// Whatever text comes in, there are assignments or findings.
TEST(ConfigFile, RandomTextIsReadOrRefused) {
  RandomPieces random(
      5, {"a",  "model", ": ",     ":",          "\n",     "  ",   "- ", "[",    "]",
          "{",  "}",     ",",      "'",          "\"",     "&x ",  "*x", "?",    "#",
          "|",  ">",     "!!str ", "---\n",      "...",    "<<: ", "1",  "null", "%",
          "\t", "--x",   "yes",    "MODEL_ARGS", "kwargs", "\\",   "@",  "true", "_target_"});
  int num_accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = random.text(11);
    for (const char* name : {"c.yaml", "c.json", "c"}) {
      const auto checked = read_config_text(text, name);
      ASSERT_EQ(checked.value.has_value(), !rejects(checked.findings)) << name << "\n" << text;
      num_accepted += checked.value ? 1 : 0;
    }
  }
  EXPECT_GT(num_accepted, 1000);
}

}  // namespace
}  // namespace refrain::config
