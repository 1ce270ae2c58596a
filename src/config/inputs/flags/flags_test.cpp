#include "config/inputs/flags/flags.h"

#include <gtest/gtest.h>

#include <sstream>

#include "config/inputs/testing/outcome.h"
#include "config/inputs/testing/random_pieces.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

Checked<Assignments> parse(const std::string& line, HarnessRevision revision = kNewestHarness) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return parse_flags(words, {.harness = revision});
}
std::string read(const std::string& line, HarnessRevision revision = kNewestHarness) {
  return outcome(parse(line, revision));
}

/// What counts in the end; "not set" where nothing does.
Value last_value(const Checked<Assignments>& read, std::string_view knob) {
  Value value = "not set";
  for (const Assignment& each : read.value.value_or(Assignments{})) {
    if (each.knob == knob) value = each.value;
  }
  return value;
}

TEST(ParseFlags, FollowsTheGeneralRule) {
  EXPECT_EQ(read("--recompute-granularity full"), "recompute_granularity=full");
  EXPECT_EQ(read("--recompute-granularity=full"), "recompute_granularity=full");
  EXPECT_EQ(read("--tensor-model-parallel-size 4"), "tensor_model_parallel_size=4");
  EXPECT_EQ(read("--hidden-dropout 0.0"), "hidden_dropout=0.0");
  EXPECT_EQ(read("--sequence-parallel --use-distributed-optimizer"), "sequence_parallel=true");
  EXPECT_EQ(read("--moe-expert-capacity-factor -1.0"), "moe_expert_capacity_factor=-1.0");
  EXPECT_EQ(read("--foo null --bar True"), "foo=null bar=true");
  EXPECT_EQ(rules_of(parse("--foo None").findings), "flag.text-not-meant");
  EXPECT_EQ(read("--mrope-section 16 24 24"), "mrope_section=['16','24','24']");
  EXPECT_EQ(read("--train.micro-batch-size 2"), "micro_batch_size=2");
  EXPECT_EQ(read(""), "");
}

TEST(ParseFlags, NegativeSwitchesSetFalse) {
  EXPECT_EQ(read("--no-bias-dropout-fusion"), "bias_dropout_fusion=false");
  EXPECT_EQ(read("--disable-parameter-transpose-cache"), "parameter_transpose_cache=false");
  EXPECT_EQ(read("--disable-bias-linear"), "add_bias_linear=false");
  EXPECT_EQ(read("--no-rope-fusion"), "apply_rope_fusion=false");
  EXPECT_EQ(read("--no-rope-freq 4"), "no_rope_freq=4");
}

TEST(ParseFlags, ListsOfMegatronAreWordsAndTheirWordsStayText) {
  EXPECT_EQ(read("--recompute-modules layernorm moe_act --bf16"),
            "recompute_modules=[layernorm,moe_act] bf16=true pipeline_dtype=bfloat16");
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
  EXPECT_EQ(read("--pipeline_model_parallel_layout Et*3|(tt|)*29,m|L"),
            "pipeline_model_parallel_layout='Et*3|(tt|)*29,m|L'");
}

TEST(ParseFlags, MegatronsPipelineSendsWhatTheParametersAre) {
  EXPECT_EQ(read("--pipeline-model-parallel-size 1"), "pipeline_model_parallel_size=1");
  EXPECT_EQ(read("--pipeline-model-parallel-size 4"),
            "pipeline_model_parallel_size=4 pipeline_dtype=float32");
  for (const char* line :
       {"--bf16 --pipeline-model-parallel-size 4", "--pipeline-model-parallel-size 4 --bf16"}) {
    const auto checked = parse(line);
    ASSERT_TRUE(checked.value);
    Value dtype;
    for (const Assignment& each : *checked.value) {
      if (each.knob == "pipeline_dtype") dtype = each.value;
    }
    EXPECT_EQ(dtype, "bfloat16") << line;
  }
}

TEST(ParseFlags, QueryGroupsNeedTheirSwitch) {
  EXPECT_EQ(read("--num-query-groups 8 --group-query-attention"), "num_query_groups=8");
  EXPECT_EQ(read("--num-query-groups 8"), "");
  EXPECT_EQ(rules_of(parse("--num-query-groups 8").findings), "flag.needs-flag");
  EXPECT_EQ(read("num_query_groups=8"), "num_query_groups=8");
  EXPECT_EQ(read("--num_query_groups 8"), "num_query_groups=8");
}

TEST(ParseFlags, LayersAVirtualStageBecomeVirtualStages) {
  const auto stages = [](const std::string& line) {
    return last_value(parse("--num-layers-per-virtual-pipeline-stage " + line),
                      "virtual_pipeline_model_parallel_size");
  };
  EXPECT_EQ(stages("2 --num-layers 32 --pipeline-model-parallel-size 4"), 4);
  EXPECT_EQ(stages("8 --num-layers 32 --pipeline-model-parallel-size 4"), nullptr);
  EXPECT_EQ(stages("2 --num-layers 30 --pipeline-model-parallel-size 4 "
                   "--account-for-embedding-in-pipeline-split "
                   "--account-for-loss-in-pipeline-split"),
            4);
  EXPECT_EQ(stages("2"), "not set");
  const std::string flag = "--num-layers-per-virtual-pipeline-stage ";
  EXPECT_EQ(rules_of(parse(flag + "2").findings), "flag.needs-knob");
  for (const char* line :
       {"3 --num-layers 32 --pipeline-model-parallel-size 4", "0 --num-layers 32",
        "2 --num-layers 30 --pipeline-model-parallel-size 4", "1 --num-layers 0",
        "1 --num-layers 4 --pipeline-model-parallel-size 0"}) {
    EXPECT_EQ(read(flag + line), "!flag.not-divisible") << line;
  }
  EXPECT_EQ(read(flag + "1 --num-layers 9223372036854775807 "
                        "--account-for-loss-in-pipeline-split"),
            "num_layers=9223372036854775807 account_for_loss_in_pipeline_split=true");
}

TEST(ParseFlags, MegatronsLayoutSaysTheVirtualStages) {
  const auto stages = [](const std::string& line) {
    return last_value(parse(line), "virtual_pipeline_model_parallel_size");
  };
  const std::string layout = " --pipeline-model-parallel-layout ";
  EXPECT_EQ(stages("--pipeline-model-parallel-size 2" + layout + "Et|t|t|tL"), 2);
  EXPECT_EQ(stages(layout + "Et|tL --pipeline-model-parallel-size 2"), nullptr);
  EXPECT_EQ(read("--pipeline-model-parallel-size 2" + layout + "Et|t|tL"), "!flag.not-divisible");
}

TEST(ParseFlags, VirtualStagesOverlapWhatIsSentUnlessToldOtherwise) {
  const std::string stages = "--num-virtual-stages-per-pipeline-rank ";
  EXPECT_EQ(read(stages + "2"),
            "virtual_pipeline_model_parallel_size=2 overlap_p2p_comm=true batch_p2p_comm=false");
  EXPECT_EQ(read(stages + "1"), "virtual_pipeline_model_parallel_size=null");
  for (const std::string& line : {"--no-overlap-p2p-communication " + stages + "2",
                                  stages + "2 --no-overlap-p2p-communication"}) {
    EXPECT_EQ(last_value(parse(line), "overlap_p2p_comm"), false) << line;
    EXPECT_EQ(last_value(parse(line), "batch_p2p_comm"), true) << line;
  }
}

TEST(ParseFlags, SequenceParallelNeedsTensorParallel) {
  const auto alone = parse("--sequence-parallel --tensor-model-parallel-size 1");
  EXPECT_EQ(last_value(alone, "sequence_parallel"), false);
  EXPECT_EQ(rules_of(alone.findings), "flag.switched-off");
  EXPECT_EQ(
      last_value(parse("--tensor-model-parallel-size 2 --sequence-parallel"), "sequence_parallel"),
      true);
  EXPECT_EQ(read("--sequence-parallel"), "sequence_parallel=true");
  EXPECT_EQ(read("sequence_parallel=true tensor_model_parallel_size=1"),
            "sequence_parallel=true tensor_model_parallel_size=1");
}

TEST(ParseFlags, DeferredWeightGradientsComeWithTheFusionThatIsMegatronsDefault) {
  EXPECT_EQ(read("--defer-embedding-wgrad-compute"),
            "defer_embedding_wgrad_compute=true gradient_accumulation_fusion=true");
  EXPECT_EQ(last_value(parse("--no-gradient-accumulation-fusion --defer-embedding-wgrad-compute"),
                       "gradient_accumulation_fusion"),
            false);
}

TEST(ParseFlags, AFlagThatIsNoFieldInARelease) {
  const auto read_by = [](const std::string& flag, Dialect dialect) {
    return outcome(parse_flags({flag, "4"}, {.megatron = dialect}));
  };
  EXPECT_EQ(read_by("--transformer-impl", Dialect::kMcore_0_13_1), "");
  EXPECT_EQ(read_by("--transformer-impl", Dialect::kMcore_0_14_0), "transformer_impl='4'");
  EXPECT_EQ(read_by("--max-position-embeddings", Dialect::kMcore_0_13_1),
            "max_position_embeddings=4");
  EXPECT_EQ(read_by("--max-position-embeddings", Dialect::kMcore_0_14_0), "");
}

TEST(Harness, DenseLayersBeforeExpertsAreAListOfLayers) {
  EXPECT_EQ(read("--num_layers 5 --first_k_dense_replace 2"),
            "num_layers=5 moe_layer_freq=[0,0,1,1,1]");
  EXPECT_EQ(read("--first_k_dense_replace 9 --num_layers 2"), "moe_layer_freq=[0,0] num_layers=2");
  EXPECT_EQ(read("--first_k_dense_replace 2"), "");
  EXPECT_EQ(rules_of(parse("--first_k_dense_replace 2").findings), "flag.needs-knob");
}

TEST(ParseFlags, AFlagThatSetsNoKnobIsToldOnce) {
  const auto checked = parse(
      "--lr 1e-4 --data-path 0.5 a 0.5 b --no-load-optim --use-distributed-optimizer "
      "--split 99,1,0 --max-position-embeddings 4096 --position-embedding-type rope --bf16");
  EXPECT_EQ(outcome(checked), "bf16=true pipeline_dtype=bfloat16");
  ASSERT_EQ(rules_of(checked.findings), "flag.not-a-knob");
  EXPECT_NE(checked.findings[0].message.find("--data-path"), std::string::npos);
  // What nobody has is a knob that is not there: the configuration says so, with the nearest.
  EXPECT_EQ(read("--recompute-granularty full"), "recompute_granularty=full");
}

TEST(ParseFlags, ASwitchThatIsAKnobTakesNoWordOfMegatron) {
  const auto checked = parse("--moe-grouped-gemm true");
  EXPECT_EQ(outcome(checked), "moe_grouped_gemm=true");
  EXPECT_EQ(rules_of(checked.findings), "flag.switch-with-value");
  EXPECT_TRUE(parse("--moe_grouped_gemm true").findings.empty());
  EXPECT_TRUE(parse("--moe-grouped-gemm").findings.empty());
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
  EXPECT_EQ(read("-et"), "");     // None is what the harness takes for no flag
  EXPECT_EQ(read("-et 2"), "expert_tensor_parallel_size=2");
  EXPECT_EQ(read("-pp 99999999999999999999"), "!flag.not-a-number");
}

TEST(Harness, CudaGraphsBringTheirRandomNumbersAndNoneClearsTheModules) {
  EXPECT_EQ(read("--cuda_graph_impl local"),
            "cuda_graph_impl=local use_te_rng_tracker=true rng.te_rng_tracker=true");
  EXPECT_EQ(read("--cuda_graph_impl none"),
            "cuda_graph_impl=none use_te_rng_tracker=false rng.te_rng_tracker=false "
            "~cuda_graph_modules ~cuda_graph_scope");
}

TEST(Harness, TheWholeStepIsAnImplementationOfGraphsSinceItsV05) {
  EXPECT_EQ(read("--cuda_graph_scope attn,moe_router"), "cuda_graph_modules=[attn,moe_router]");
  EXPECT_EQ(read("--cuda_graph_scope full_iteration"),
            "cuda_graph_impl=full_iteration cuda_graph_modules=[]");
  for (const char* line : {"--cuda_graph_impl local --cuda_graph_scope full_iteration",
                           "--cuda_graph_scope full_iteration --cuda_graph_impl local"}) {
    EXPECT_EQ(last_value(parse(line), "cuda_graph_impl"), "full_iteration") << line;
    EXPECT_EQ(last_value(parse(line), "cuda_graph_modules"), Value::array()) << line;
  }
  EXPECT_EQ(
      last_value(parse("--cuda_graph_impl none --cuda_graph_scope attn"), "cuda_graph_modules"),
      nullptr);
  EXPECT_EQ(read("--cuda_graph_scope full_iteration,attn"), "!flag.scope-alone");
  EXPECT_EQ(read("--cuda_graph_impl transformer_engine --cuda_graph_scope full_iteration"),
            "!flag.scope-not-with-te");
  for (const char* scope : {"attn", "full_iteration"}) {
    EXPECT_EQ(read(std::string("--cuda_graph_scope ") + scope, HarnessRevision::kV0_3),
              std::string("cuda_graph_scope=[") + scope + "]");
  }
}

TEST(Harness, FlagsWinOverOverridesUnlessARecipeIsRun) {
  for (const char* line :
       {"-rl 2 model.recompute_num_layers=3", "model.recompute_num_layers=3 -rl 2",
        "model.recompute_num_layers=1 -rl 2 ~recompute_num_layers"}) {
    EXPECT_EQ(last_value(parse(line), "recompute_num_layers"), 2) << line;
  }
  EXPECT_EQ(rules_of(parse("-rl 2 recompute_num_layers=3").findings), "flag.wins");
  EXPECT_TRUE(parse("recompute_num_layers=3 -rl 2").findings.empty());
  EXPECT_EQ(last_value(parse("--use_recipes -rl 2 recompute_num_layers=3"), "recompute_num_layers"),
            3);
  // What is told of several knobs keeps the order within each.
  EXPECT_EQ(read("-tp 4 x=1 tensor_model_parallel_size=2 sequence_parallel=false x=2"),
            "tensor_model_parallel_size=2 sequence_parallel=false x=1 tensor_model_parallel_size=4 "
            "sequence_parallel=true x=2");
  // Megatron-LM has no overrides.
  EXPECT_EQ(read("--recompute-num-layers 2 recompute_num_layers=3"),
            "recompute_num_layers=2 recompute_num_layers=3");
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
  EXPECT_EQ(read("x=1 --x 2 ++fp8=e4m3 ~y --recompute-modules mlp model.z=[a]"),
            "x=1 x=2 fp8=e4m3 ~y recompute_modules=[mlp] z=[a]");
  EXPECT_EQ(read("-rl 2 recompute_num_layers=3 --bf16"),
            "recompute_granularity=full recompute_method=block recompute_num_layers=3 "
            "recompute_num_layers=2 bf16=true pipeline_dtype=bfloat16");
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
  const auto checked = parse(
      "-m llama -ng 8 -E A=b --dryrun -c bf16 --vocab_size 9 --dataset_paths a b "
      "--kubeflow_namespace n -tp 2");
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

TEST(IsFlag, IsToldFromNegativeNumbers) {
  for (const char* word : {"-x", "--x", "--", "-tp"}) EXPECT_TRUE(is_flag(word)) << word;
  for (const char* word : {"", "-", "-1", "-.5", "x", "x=-1"}) EXPECT_FALSE(is_flag(word)) << word;
}

// Whatever words come in, there are assignments that print and read back, or findings.
TEST(ParseFlags, RandomWordsAreReadOrRefused) {
  RandomPieces random(11, {"--recompute-modules",
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
                           "{a:1}",
                           "--a.b=",
                           "--num-layers",
                           "--first_k_dense_replace",
                           "--lr",
                           "--num-query-groups"});
  int num_accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::vector<std::string> words = random.words(5);
    const auto checked = parse_flags(words);
    ASSERT_EQ(checked.value.has_value(), !rejects(checked.findings)) << joined(words, " ");
    num_accepted += checked.value ? 1 : 0;
  }
  EXPECT_GT(num_accepted, 1000);
}

}  // namespace
}  // namespace refrain::config
