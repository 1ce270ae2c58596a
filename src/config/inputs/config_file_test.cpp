#include "config/inputs/config_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/error.h"
#include "config/inputs/outcome.h"

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
            "micro_batch_size=1 train.train_iters=50 seq_length=4096");
  EXPECT_EQ(yaml_notes("model: {f: {_target_: x}}"), "file.not-a-knob");
  EXPECT_EQ(yaml("cfg: {model: {x: 1}}"), "x=1");
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
            "pipeline_model_parallel_layout='Et*7|t*7mL' x=7");
  EXPECT_EQ(yaml_notes("MODEL_ARGS:\n  --x: false\n"), "file.flag-off");
  EXPECT_EQ(yaml("MODEL_ARGS:\n  --recompute-modules: []\n"), "recompute_modules=[]");
}

TEST(ConfigFile, FlagsInFilesKeepTheRulesOfCommandLines) {
  EXPECT_EQ(yaml("MODEL_ARGS:\n  --recompute-activations: true\n  --recompute-granularity: full\n"),
            "recompute_granularity=full recompute_granularity=selective");
  const auto wrong = read_config_text("MODEL_ARGS:\n  --num-experts: many\n", "c.yaml");
  EXPECT_EQ(outcome(wrong), "!flag.not-a-number");
  EXPECT_TRUE(wrong.findings[0].message.starts_with("c.yaml:2: ")) << wrong.findings[0].message;
  EXPECT_EQ(yaml("--recompute_modules: a,b"),
            "recompute_modules=[a,b] recompute_granularity=selective");
  EXPECT_EQ(outcome(read_config_text("--recompute_modules: a", "c.yaml", HarnessRevision::kV0_2)),
            "recompute_modules=[a]");
}

TEST(ConfigFile, AnObjectWithKwargsIsThose) {
  EXPECT_EQ(json(R"({"id": "1", "kwargs": {"num_layers": 4, "fp8": null}, "verdict": "accept"})"),
            "num_layers=4 fp8=null");
  EXPECT_EQ(json(R"({"kwargs": 3})"), "kwargs=3");
}

TEST(YamlScalars, FollowTheCoreSchema) {
  EXPECT_EQ(yaml("a: '1'\nb: \"true\"\nc: 'null'\nd: !!str 5\n"), "a='1' b='true' c='null' d='5'");
  EXPECT_EQ(yaml("a: 0x1F\nb: 0o17\nc: 007\nd: +3\ne: 1e3\nf: .5\ng: TRUE\nh: False\n"),
            "a=31 b=15 c=7 d=3 e=1000.0 f=0.5 g=true h=false");
  EXPECT_EQ(yaml("a: 1_000\nb: .nan\nc: tRue\nd: 0x\nf: 1.5.2\n"),
            yaml("a: '1_000'\nb: '.nan'\nc: 'tRue'\nd: '0x'\nf: '1.5.2'\n"));
  EXPECT_EQ(yaml("a: 9223372036854775807"), "a=9223372036854775807");
  EXPECT_EQ(yaml("a: 9223372036854775808"), "!file.number-range");
  EXPECT_EQ(yaml("a: 1e999"), "!file.number-range");
}

TEST(YamlScalars, YesAndNoAreTextWithANote) {
  EXPECT_EQ(yaml("a: yes\nb: off\nc: None\n"), "a=yes b=off c='None'");
  EXPECT_EQ(yaml_notes("a: yes\nb: off\nc: None\n"),
            "file.text-not-meant file.text-not-meant file.text-not-meant");
  EXPECT_EQ(yaml_notes("a: 'yes'\nb: true\n"), "");
}

TEST(ConfigFile, AKeyThatIsThereAgainCountsLastWithANote) {
  EXPECT_EQ(yaml("a: 1\nb: 2\na: 3\n"), "a=3 b=2");
  EXPECT_EQ(yaml_notes("a: 1\na: 3\n"), "file.duplicate-key");
  const auto in_json = read_config_text(R"({"a": 1, "a": {"b": 2}})", "c.json");
  EXPECT_EQ(outcome(in_json), "a.b=2");
  EXPECT_EQ(rules_of(in_json.findings), "file.duplicate-key");
}

TEST(ConfigFile, AnchorsAndMergesAreFollowed) {
  EXPECT_EQ(yaml("x: &m [a, b]\ny: *m\n"), "x=[a,b] y=[a,b]");
  EXPECT_EQ(yaml("base: &base {a: 1, b: 2}\nmodel:\n  b: 3\n  <<: *base\n"),
            "base.a=1 base.b=2 a=1 b=3");
  EXPECT_EQ(yaml("p: &p {a: 1}\nq: &q {a: 2, b: 2}\nmodel: {<<: [*p, *q]}\n"),
            "p.a=1 q.a=2 q.b=2 a=2 b=2 a=1");
  EXPECT_EQ(yaml("x: &m [a, *m]\n"), "!file.alias");
  EXPECT_EQ(yaml("x: *nobody\n"), "!file.malformed");
}

TEST(ConfigFile, WhatIsNoMapOrNotOneDocumentIsAFinding) {
  EXPECT_EQ(json("[1, 2]"), "!file.not-a-map");
  EXPECT_EQ(yaml("- a\n"), "!file.not-a-map");
  EXPECT_EQ(yaml("just text"), "!file.not-a-map");
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
  const std::string path = testing::TempDir() + "refrain_config_file_test.yaml";
  std::ofstream(path, std::ios::binary) << "a: 1\n";
  EXPECT_EQ(outcome(read_config_file(path)), "a=1");
  EXPECT_EQ(read_config_file(path).value->at(0).source.place, path + ":1");
  std::ofstream(path, std::ios::binary) << "a: 1\n#" << std::string((16 << 20) - 6, 'x');
  EXPECT_EQ(outcome(read_config_file(path)), "a=1");
  std::ofstream(path, std::ios::binary | std::ios::app) << 'x';
  EXPECT_EQ(outcome(read_config_file(path)), "!file.too-large");
  std::remove(path.c_str());
  EXPECT_THROW(read_config_file(path), Error);
  EXPECT_THROW(read_config_file(testing::TempDir()), Error);
}

// Whatever text comes in, there are assignments or findings.
TEST(ConfigFile, RandomTextIsReadOrRefused) {
  std::mt19937 random(5);
  const std::vector<std::string> pieces = {
      "a",  "model", ": ",     ":",          "\n",     "  ",   "- ", "[",    "]",
      "{",  "}",     ",",      "'",          "\"",     "&x ",  "*x", "?",    "#",
      "|",  ">",     "!!str ", "---\n",      "...",    "<<: ", "1",  "null", "%",
      "\t", "--x",   "yes",    "MODEL_ARGS", "kwargs", "\\",   "@",  "true", "_target_"};
  int num_accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) text += pieces[random() % pieces.size()];
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
