#include "config/inputs/flags.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include "config/inputs/flag_effects.h"
#include "config/inputs/outcome.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

Checked<Assignments> parse(const std::string& line, HarnessRevision revision = kNewestHarness) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return parse_flags(words, revision);
}
std::string read(const std::string& line, HarnessRevision revision = kNewestHarness) {
  return outcome(parse(line, revision));
}

TEST(ParseFlags, FollowsTheGeneralRule) {
  EXPECT_EQ(read("--recompute-granularity full"), "recompute_granularity=full");
  EXPECT_EQ(read("--recompute-granularity=full"), "recompute_granularity=full");
  EXPECT_EQ(read("--tensor-model-parallel-size 4"), "tensor_model_parallel_size=4");
  EXPECT_EQ(read("--hidden-dropout 0.0"), "hidden_dropout=0.0");
  EXPECT_EQ(read("--sequence-parallel --use-distributed-optimizer"),
            "sequence_parallel=true use_distributed_optimizer=true");
  EXPECT_EQ(read("--moe-expert-capacity-factor -1.0"), "moe_expert_capacity_factor=-1.0");
  EXPECT_EQ(read("--foo null --bar True"), "foo=null bar=true");
  EXPECT_EQ(read("--mrope-section 16 24 24"), "mrope_section=['16','24','24']");
  EXPECT_EQ(read("--train.micro-batch-size 2"), "micro_batch_size=2");
  EXPECT_EQ(read(""), "");
}

TEST(ParseFlags, NegativeSwitchesSetFalse) {
  EXPECT_EQ(read("--no-bias-dropout-fusion"), "bias_dropout_fusion=false");
  EXPECT_EQ(read("--disable-symmetric-registration"), "symmetric_registration=false");
  EXPECT_EQ(read("--disable-bias-linear"), "add_bias_linear=false");
  EXPECT_EQ(read("--no-rope-fusion"), "apply_rope_fusion=false");
  EXPECT_EQ(read("--no-weight-decay-cond-type apply"), "no_weight_decay_cond_type=apply");
  EXPECT_EQ(read("--no-rope-freq 4"), "no_rope_freq=4");
}

TEST(ParseFlags, ListsOfMegatronAreWordsAndTheirWordsStayText) {
  EXPECT_EQ(read("--recompute-modules layernorm moe_act --bf16"),
            "recompute_modules=[layernorm,moe_act] bf16=true");
  EXPECT_EQ(read("--recompute-modules null 1"), "recompute_modules=['null','1']");
  EXPECT_EQ(read("--recompute-modules=mlp"), "recompute_modules=[mlp]");
  EXPECT_EQ(read("--recompute-modules []"), "recompute_modules=[]");
  EXPECT_EQ(read("--recompute-modules [mlp,moe]"), "recompute_modules=[mlp,moe]");
  EXPECT_EQ(outcome(parse_flags({"--recompute-modules", "[mlp moe]"})),
            "recompute_modules=[mlp,moe]");
  EXPECT_EQ(read("--recompute-modules"), "!flag.missing-value");
  EXPECT_EQ(read("--recompute-modules --bf16"), "!flag.missing-value");
}

TEST(ParseFlags, ACommaInAListOfMegatronIsPartOfAWordWithANote) {
  EXPECT_EQ(read("--recompute-modules mlp,moe"), "recompute_modules=['mlp,moe']");
  EXPECT_EQ(rules_of(parse("--recompute-modules mlp,moe").findings), "flag.comma-in-list");
  EXPECT_TRUE(parse("--recompute-modules mlp moe").findings.empty());
}

TEST(ParseFlags, RecomputeActivationsIsSelectiveAndWinsOverFullInEitherOrder) {
  EXPECT_EQ(read("--recompute-activations"), "recompute_granularity=selective");
  for (const char* line : {"--recompute-granularity full --recompute-activations",
                           "--recompute-activations --recompute-granularity full"}) {
    EXPECT_EQ(read(line), "recompute_granularity=full recompute_granularity=selective") << line;
  }
  EXPECT_EQ(read("--recompute-activations model.recompute_granularity=full"),
            "recompute_granularity=selective recompute_granularity=full");
}

TEST(ParseFlags, MegatronsNamesBecomeTheConfigurations) {
  EXPECT_EQ(read("--fp8-format hybrid --fp4-format e2m1"), "fp8=hybrid fp4=e2m1");
  EXPECT_EQ(read("--fp8-param-gather"), "fp8_param=true");
  EXPECT_EQ(read("--num-experts 64"), "num_moe_experts=64");
  EXPECT_EQ(read("--swiglu"), "gated_linear_unit=true activation_func=silu");
  EXPECT_EQ(read("--squared-relu"), "activation_func=squared_relu");
  EXPECT_EQ(read("--no-overlap-p2p-communication"), "overlap_p2p_comm=false batch_p2p_comm=true");
  EXPECT_EQ(read("--decoder-first-pipeline-num-layers 3"), "num_layers_in_first_pipeline_stage=3");
  EXPECT_EQ(read("--num-virtual-stages-per-pipeline-rank 2"),
            "virtual_pipeline_model_parallel_size=2");
  EXPECT_EQ(read("--num-virtual-stages-per-pipeline-rank 1"),
            "virtual_pipeline_model_parallel_size=1 virtual_pipeline_model_parallel_size=null");
  EXPECT_EQ(read("--pipeline-model-parallel-layout Et*3|(tt|)*29,m|L"),
            "pipeline_model_parallel_layout='Et*3|(tt|)*29,m|L'");
}

TEST(ParseFlags, LayerOffloadOfMegatronIsOnFromOneLayer) {
  EXPECT_EQ(read("--cpu-offloading-num-layers 1"),
            "cpu_offloading_num_layers=1 cpu_offloading=true");
  EXPECT_EQ(read("--cpu-offloading-num-layers 0"), "cpu_offloading_num_layers=0");
}

TEST(ParseFlags, LayerPatternsAreEvaluated) {
  EXPECT_EQ(read("--moe-layer-freq ([0]*3+[1]*2)"), "moe_layer_freq=[0,0,0,1,1]");
  EXPECT_EQ(read("--moe-layer-freq 2"), "moe_layer_freq=2");
  EXPECT_EQ(read("--moe-layer-freq [0]*99999"), "!flag.list-expression");
  EXPECT_EQ(read("--moe-layer-freq often"), "!flag.list-expression");
}

TEST(Harness, RecomputeModulesTakesCommasAndMeansSelectiveSinceItsV03) {
  const std::string selective = "recompute_modules=[core_attn,mlp] recompute_granularity=selective";
  EXPECT_EQ(read("--recompute_modules core_attn,mlp"), selective);
  EXPECT_EQ(read("--recompute_modules core_attn mlp"), selective);
  EXPECT_EQ(read("--recompute_modules core_attn,mlp", HarnessRevision::kV0_3), selective);
  EXPECT_EQ(read("--recompute_modules core_attn,mlp", HarnessRevision::kV0_2),
            "recompute_modules=[core_attn,mlp]");
  EXPECT_EQ(read("--recompute_modules=a,,b"),
            "recompute_modules=[a,'',b] "
            "recompute_granularity=selective");
  EXPECT_EQ(outcome(parse_flags({"--recompute_modules", ""})),
            "recompute_modules=[''] recompute_granularity=selective");
  EXPECT_EQ(read("--recompute_modules"), "!flag.missing-value");
}

TEST(Harness, RecomputeNumLayersMeansFullAndBlockAndMegatronsSpellingDoesNot) {
  const std::string full =
      "recompute_granularity=full recompute_method=block "
      "recompute_num_layers=";
  EXPECT_EQ(read("-rl 2"), full + "2");
  EXPECT_EQ(read("-rl 0"), full + "0");
  EXPECT_EQ(read("--recompute_num_layers 2"), full + "2");
  EXPECT_EQ(read("--recompute-num-layers 2"), "recompute_num_layers=2");
}

TEST(Harness, BothRecomputeFlagsEndSelectiveWithTheLayersLeftInEitherOrder) {
  EXPECT_EQ(read("-rl 2 --recompute_modules mlp"),
            "recompute_granularity=full recompute_method=block recompute_num_layers=2 "
            "recompute_modules=[mlp] recompute_granularity=selective");
  EXPECT_EQ(read("--recompute_modules mlp -rl 2"),
            "recompute_modules=[mlp] recompute_granularity=full recompute_granularity=selective "
            "recompute_method=block recompute_num_layers=2");
}

TEST(Harness, OffloadNeedsALayerSinceItsV05) {
  const std::string on =
      "cpu_offloading=true cpu_offloading_weights=false "
      "cpu_offloading_num_layers=";
  EXPECT_EQ(read("-ol 1"), on + "1");
  EXPECT_EQ(read("-ol 0"), "");
  EXPECT_EQ(read("--activation_offload_layers 0", HarnessRevision::kV0_2), on + "0");
  EXPECT_EQ(read("-ol 0", HarnessRevision::kV0_3), on + "0");
  EXPECT_EQ(read("-ol x"), "!flag.not-a-number");
}

TEST(Harness, ParallelSizesHaveShortSpellings) {
  EXPECT_EQ(read("-tp 2"), "tensor_model_parallel_size=2 sequence_parallel=true");
  EXPECT_EQ(read("-tp 1"), "tensor_model_parallel_size=1 sequence_parallel=false");
  EXPECT_EQ(read("--tensor_model_parallel_size 2"),
            "tensor_model_parallel_size=2 sequence_parallel=true");
  EXPECT_EQ(read("-pp 4 -cp 1 -ep 8 -mb 1 -gb 64 -sl 4096"),
            "pipeline_model_parallel_size=4 context_parallel_size=1 expert_model_parallel_size=8 "
            "micro_batch_size=1 global_batch_size=64 seq_length=4096");
  EXPECT_EQ(read("-vp None"), "virtual_pipeline_model_parallel_size=null");
  EXPECT_EQ(read("-vp 4"), "virtual_pipeline_model_parallel_size=4");
  EXPECT_EQ(read("-vp -1"), "");  // its default: what the recipe says
  EXPECT_EQ(read("-et"), "expert_tensor_parallel_size=null");
  EXPECT_EQ(read("-et 2"), "expert_tensor_parallel_size=2");
  EXPECT_EQ(read("-pp 99999999999999999999"), "!flag.not-a-number");
}

TEST(Harness, CudaGraphsBringTheirRandomNumbersAndNoneClearsTheModules) {
  EXPECT_EQ(read("--cuda_graph_impl local"),
            "cuda_graph_impl=local use_te_rng_tracker=true rng.te_rng_tracker=true");
  EXPECT_EQ(read("--cuda_graph_impl none"),
            "cuda_graph_impl=none use_te_rng_tracker=false rng.te_rng_tracker=false "
            "~cuda_graph_modules ~cuda_graph_scope");
  EXPECT_EQ(read("--cuda_graph_scope attn,moe_router"), "cuda_graph_modules=[attn,moe_router]");
  EXPECT_EQ(read("--cuda_graph_scope attn", HarnessRevision::kV0_3), "cuda_graph_scope=[attn]");
}

TEST(Harness, ExpertOverlapIsABundleThatOnlyTrueSwitchesOn) {
  EXPECT_EQ(read("--moe_a2a_overlap true"),
            "overlap_moe_expert_parallel_comm=true delay_wgrad_compute=true "
            "moe_shared_expert_overlap=false");
  EXPECT_EQ(read("--moe_a2a_overlap No"), "");
  EXPECT_EQ(read("--moe_a2a_overlap maybe"), "!flag.not-true-or-false");
  EXPECT_EQ(read("--moe_a2a_overlap"), "!flag.missing-value");
}

TEST(ParseFlags, OverridesKeepTheirPlace) {
  EXPECT_EQ(read("x=1 --x 2 ++x=3 ~y --recompute-modules mlp model.z=[a]"),
            "x=1 x=2 x=3 ~y recompute_modules=[mlp] z=[a]");
  EXPECT_EQ(read("-rl 2 recompute_num_layers=3 --bf16"),
            "recompute_granularity=full recompute_method=block recompute_num_layers=2 "
            "recompute_num_layers=3 bf16=true");
}

TEST(ParseFlags, RemembersTheFlagWithItsWords) {
  const auto checked = parse("-tp 2 x=1");
  ASSERT_TRUE(checked.value);
  EXPECT_EQ(checked.value->at(0).source, (Source{Origin::kFlag, "-tp 2"}));
  EXPECT_EQ(checked.value->at(1).source, (Source{Origin::kFlag, "-tp 2"}));
  EXPECT_EQ(checked.value->at(2).source, (Source{Origin::kOverride, "x=1"}));
}

TEST(ParseFlags, AWordThatBelongsToNothingIsAFinding) {
  EXPECT_EQ(read("word"), "!flag.unexpected-word");
  EXPECT_EQ(read("--recompute-activations true"), "!flag.unexpected-word");
  EXPECT_EQ(read("-tp 2 3"), "!flag.unexpected-word");
  EXPECT_EQ(read("--recompute-activations=true"), "!flag.switch-with-value");
  EXPECT_EQ(read("-"), "!flag.unexpected-word");
}

TEST(ParseFlags, AnUnknownShortFlagGetsTheNearest) {
  const auto checked = parse("-tpp 2");
  EXPECT_EQ(outcome(checked), "!flag.unknown");
  EXPECT_NE(checked.findings[0].remedy.find("-tp"), std::string::npos);
  EXPECT_EQ(read("--"), "!flag.unknown");
  EXPECT_EQ(read("---x"), "!flag.unknown");
}

TEST(ParseFlags, AFlagOfTheLauncherIsANoteOnce) {
  const auto checked = parse("-m llama -ng 8 -E A=b --dryrun -c bf16 -tp 2");
  EXPECT_EQ(outcome(checked), "tensor_model_parallel_size=2 sequence_parallel=true");
  EXPECT_EQ(rules_of(checked.findings), "flag.not-a-knob");
}

TEST(ParseFlags, AllFindingsAreToldAtOnce) {
  EXPECT_EQ(read("word -ol x =1 --checkpoint-activations --foo 99999999999999999999"),
            "!flag.unexpected-word flag.not-a-number override.empty-key flag.gone "
            "flag.number-range");
  EXPECT_EQ(read("--foo [a"), "!flag.malformed-value");
  EXPECT_EQ(read("--foo \xff"), "!flag.not-text");
  EXPECT_EQ(outcome(parse_flags(std::vector<std::string>(5001, "--x"))), "!flag.too-many-words");
  EXPECT_TRUE(parse_flags(std::vector<std::string>(5000, "--x")).value);
}

TEST(ParseFlags, LongWordsAreRefusedBeforeTheyAreCut) {
  const std::string most(64 * 1024, ',');
  EXPECT_TRUE(parse_flags({"--recompute_modules", most}).value);
  EXPECT_EQ(outcome(parse_flags({"--recompute_modules", most + ","})), "!flag.too-long");
  EXPECT_EQ(outcome(parse_flags({"--" + most})), "!flag.too-long");
  EXPECT_EQ(outcome(parse_flags({"-" + std::string(1000, 'x')})), "!flag.unknown");
}

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

TEST(IsFlag, IsToldFromNegativeNumbers) {
  for (const char* word : {"-x", "--x", "--", "-tp"}) EXPECT_TRUE(is_flag(word)) << word;
  for (const char* word : {"", "-", "-1", "-.5", "x", "x=-1"}) EXPECT_FALSE(is_flag(word)) << word;
}

// Whatever words come in, there are assignments that print and read back, or findings.
TEST(ParseFlags, RandomWordsAreReadOrRefused) {
  std::mt19937 random(11);
  const std::vector<std::string> pieces = {"--recompute-modules",
                                           "--recompute_modules",
                                           "-rl",
                                           "-ol",
                                           "-vp",
                                           "mlp",
                                           "[a b]",
                                           "1",
                                           "x=1",
                                           "~x",
                                           "--",
                                           "-1",
                                           "a,b",
                                           "None",
                                           "[",
                                           "'",
                                           "--no-x",
                                           "--x=",
                                           "+",
                                           "true",
                                           "-et",
                                           "--a.b",
                                           "",
                                           "-m",
                                           "--moe-layer-freq",
                                           "([0]*2)",
                                           "=",
                                           "\xff",
                                           "--a.b=",
                                           "{a:1}"};
  int num_accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> words;
    for (size_t n = random() % 6; n > 0; --n) words.push_back(pieces[random() % pieces.size()]);
    const auto checked = parse_flags(words);
    ASSERT_EQ(checked.value.has_value(), !rejects(checked.findings)) << joined(words, " ");
    num_accepted += checked.value ? 1 : 0;
  }
  EXPECT_GT(num_accepted, 1000);
}

}  // namespace
}  // namespace refrain::config
