// Recompute and the offload of whole layers: granularity, method and number of layers.
#include <algorithm>

#include "config/rules/recompute/parts.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr auto kChooseMethod = [](const Knobs&, const Context&) -> std::vector<Remedy> {
  return {setting("recompute_method=uniform", {{"recompute_method", "uniform"}}),
          setting("recompute_method=block", {{"recompute_method", "block"}})};
};
constexpr auto kDropNumLayers = [](const Knobs&, const Context&) -> std::vector<Remedy> {
  return {setting("recompute_num_layers=null", {{"recompute_num_layers", nullptr}})};
};

constexpr Rule kGranularityRules[] = {
    {.id = "offload.layers-null",
     .dialects = kEverywhere,
     .outcome = kTypeError,
     .because = "The number of offloaded layers is compared with the model's.",
     .remedy = "set cpu_offloading_num_layers",
     .knobs = "cpu_offloading_num_layers cpu_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.cpu_offloading || k.cpu_offloading_num_layers) return {};
       return "cpu_offloading_num_layers must be a number with cpu_offloading: null";
     }},
    {.id = "offload.layers-range",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "The last layer's activations are needed at once.",
     .remedy = "0 to num_layers - 1",
     .knobs = "cpu_offloading_num_layers cpu_offloading num_layers",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.cpu_offloading || !k.cpu_offloading_num_layers) return {};
       if (s.dialect == kRefrain && k.num_layers == 0) return {};  // the model was not told
       const int64_t layers = *k.cpu_offloading_num_layers;
       if (layers >= 0 && layers < k.num_layers) return {};
       return fmt::format("cpu_offloading_num_layers must be 0 to num_layers - 1, which is {}: {}",
                          k.num_layers - 1, layers);
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       const int64_t most = std::max<int64_t>(0, k.num_layers - 1);
       return {setting(fmt::format("cpu_offloading_num_layers={}", most),
                       {{"cpu_offloading_num_layers", most}}),
               setting("cpu_offloading=false", {{"cpu_offloading", false}})};
     }},
    {.id = "offload.nothing-chosen",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "TransformerEngine refuses to offload neither activations nor weights.",
     .remedy = "cpu_offloading_activations=true",
     .knobs = "cpu_offloading_activations cpu_offloading_weights cpu_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.cpu_offloading || k.cpu_offloading_activations || k.cpu_offloading_weights) return {};
       return "cpu_offloading must offload activations or weights: both are false";
     }},
    {.id = "offload.layers-and-pipeline",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Layer offload counts the layers of the whole model in one block.",
     .remedy = "pipeline_model_parallel_size=1, fine-grained offload, or recompute",
     .knobs = "cpu_offloading pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.cpu_offloading || k.pipeline_model_parallel_size <= 1) return {};
       return fmt::format("cpu_offloading excludes pipeline_model_parallel_size > 1: it is {}",
                          k.pipeline_model_parallel_size);
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("cpu_offloading=false", {{"cpu_offloading", false}})};
     }},
    {.id = "offload.layers-and-recompute",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "A layer's saved tensors are either offloaded or recomputed.",
     .remedy = "recompute_granularity=null, or cpu_offloading=false",
     .knobs = "cpu_offloading recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.cpu_offloading || !k.recompute_granularity) return {};
       return fmt::format("cpu_offloading excludes recompute: recompute_granularity is {}",
                          in_quotes(*k.recompute_granularity));
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("recompute_granularity=null", {{"recompute_granularity", nullptr}}),
               setting("cpu_offloading=false", {{"cpu_offloading", false}})};
     }},
    {.id = "recompute.unknown-granularity",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Either every layer is recomputed from its input, or named modules are.",
     .remedy = "full, selective, or null",
     .knobs = "recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.recompute_granularity || full(k) || selective(k)) return {};
       const auto near = nearest(*k.recompute_granularity, {"full", "selective"});
       return fmt::format("recompute_granularity must be full, selective or null: {}{}",
                          in_quotes(*k.recompute_granularity),
                          near ? fmt::format(" (did you mean {}?)", *near) : "");
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("recompute_granularity=selective", {{"recompute_granularity", "selective"}}),
               setting("recompute_granularity=null", {{"recompute_granularity", nullptr}})};
     }},
    {.id = "recompute.unknown-method",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Full recompute goes by groups of layers or by the first layers of a chunk.",
     .remedy = "uniform or block",
     .knobs = "recompute_method recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.recompute_granularity || !k.recompute_method || k.recompute_method == "uniform" ||
           k.recompute_method == "block") {
         return {};
       }
       return fmt::format("recompute_method must be uniform or block: {}",
                          in_quotes(*k.recompute_method));
     },
     .remedies = kChooseMethod},
    {.id = "recompute.method-missing",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Full recompute goes by groups of layers or by the first layers of a chunk.",
     .remedy = "recompute_method=uniform or block",
     .knobs = "recompute_method recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!full(k) || k.recompute_method) return {};
       return "full needs recompute_method: it is not set";
     },
     .remedies = kChooseMethod},
    {.id = "recompute.num-layers-missing",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "It is the size of a group (uniform) or the number of layers a chunk (block).",
     .remedy = "recompute_num_layers=1",
     .knobs = "recompute_num_layers recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!full(k) || k.recompute_num_layers) return {};
       return "full needs recompute_num_layers: it is not set";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("recompute_num_layers=1", {{"recompute_num_layers", 1}})};
     }},
    {.id = "recompute.num-layers-with-selective",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Selective recompute goes by modules, in every layer.",
     .remedy = "recompute_num_layers=null (the harness's -rl leaves it behind)",
     .knobs = "recompute_num_layers recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!selective(k) || !k.recompute_num_layers) return {};
       return fmt::format("recompute_num_layers must be null with selective: {}",
                          *k.recompute_num_layers);
     },
     .remedies = kDropNumLayers},
    {.id = "recompute.method-with-selective",
     .dialects = kOurs,
     .outcome = kAssertionError,
     .because = "Megatron-LM's command line refuses it; the classes ignore it.",
     .remedy = "recompute_method=null",
     .knobs = "recompute_method recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!selective(k) || !k.recompute_method) return {};
       return fmt::format("recompute_method must be null with selective: {}",
                          in_quotes(*k.recompute_method));
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("recompute_method=null", {{"recompute_method", nullptr}})};
     }},
    {.id = "recompute.num-layers-range",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "Megatron-Core checks no range: with uniform and 0 its loop never ends, with block "
                "and 0 nothing is recomputed.",
     .remedy = "recompute_num_layers=1 or more",
     .knobs = "recompute_num_layers recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!full(k) || k.recompute_num_layers.value_or(1) >= 1) return {};
       return fmt::format("recompute_num_layers must be 1 or more: {}", *k.recompute_num_layers);
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("recompute_num_layers=1", {{"recompute_num_layers", 1}})};
     }},
    {.id = "recompute.uniform-hangs",
     .dialects = kEverywhere - kOurs,
     .outcome = kNote,
     .because = "The loop over groups advances by recompute_num_layers.",
     .remedy = "recompute_num_layers=1 or more",
     .knobs = "recompute_num_layers recompute_method",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!full(k) || k.recompute_method != "uniform" || k.recompute_num_layers.value_or(1) >= 1) {
         return {};
       }
       return fmt::format("accepted, and the first forward never ends: recompute_num_layers is {}",
                          *k.recompute_num_layers);
     }},
    {.id = "recompute.block-of-none",
     .dialects = kEverywhere - kOurs,
     .outcome = kInactive,
     .because = "Block recomputes the first recompute_num_layers layers of a chunk.",
     .remedy = "recompute_num_layers=1 or more",
     .knobs = "recompute_num_layers recompute_method",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!full(k) || k.recompute_method != "block" || k.recompute_num_layers.value_or(1) >= 1) {
         return {};
       }
       return fmt::format("nothing is recomputed: recompute_num_layers is {}",
                          *k.recompute_num_layers);
     }},
    {.id = "recompute.distribute-and-sequence",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "With sequence parallelism a layer's input is split already.",
     .remedy = "distribute_saved_activations=false",
     .knobs = "distribute_saved_activations sequence_parallel recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.recompute_granularity || !k.distribute_saved_activations.value_or(false) ||
           !k.sequence_parallel) {
         return {};
       }
       return "distribute_saved_activations excludes sequence_parallel: both are true";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("distribute_saved_activations=false",
                       {{"distribute_saved_activations", false}})};
     }},
    {.id = "recompute.distribute-needs-tensor",
     .dialects = kOurs,
     .outcome = kAssertionError,
     .because = "It splits a layer's input over the tensor-parallel ranks.",
     .remedy = "distribute_saved_activations=false",
     .knobs = "distribute_saved_activations tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.distribute_saved_activations.value_or(false) || k.tensor_model_parallel_size > 1) {
         return {};
       }
       return fmt::format(
           "distribute_saved_activations needs tensor_model_parallel_size > 1: it is {}",
           k.tensor_model_parallel_size);
     }},
    {.id = "recompute.distribute-needs-full",
     .dialects = kOurs,
     .outcome = kAssertionError,
     .because = "Selective recompute distributes nothing; Megatron-LM's command line refuses it.",
     .remedy = "distribute_saved_activations=false, or full recompute",
     .knobs = "distribute_saved_activations recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.distribute_saved_activations.value_or(false) || full(k)) return {};
       return "distribute_saved_activations needs recompute_granularity full";
     }},
    {.id = "recompute.distribute-inactive",
     .dialects = kEverywhere - kOurs,
     .outcome = kInactive,
     .because = "Only full recompute reads it.",
     .remedy = "distribute_saved_activations=false",
     .knobs = "distribute_saved_activations recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.distribute_saved_activations.value_or(false) || full(k)) return {};
       return "distribute_saved_activations does nothing without full recompute";
     }},
    {.id = "recompute.without-granularity",
     .dialects = kEverywhere,
     .outcome = kInactive,
     .because = "Nothing is recomputed while recompute_granularity is null.",
     .remedy = "set recompute_granularity, or drop the others",
     .knobs = "recompute_granularity recompute_method recompute_num_layers recompute_modules "
              "moe_layer_recompute",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.recompute_granularity || k.moe_layer_recompute) return {};
       std::vector<std::string> idle;
       if (k.recompute_method) idle.emplace_back("recompute_method");
       if (k.recompute_num_layers) idle.emplace_back("recompute_num_layers");
       if (k.recompute_modules && !names_nothing(*k.recompute_modules)) {
         idle.emplace_back("recompute_modules");
       }
       if (idle.empty()) return {};
       return fmt::format("nothing is recomputed: recompute_granularity is null, so {} {} nothing",
                          joined(idle), idle.size() == 1 ? "does" : "do");
     }},
    {.id = "recompute.partial-micro-batches",
     .dialects = kEverywhere,
     .outcome = kNote,
     .because = "The schedule hands the training script a flag that no model reads; the scripts of "
                "Megatron-LM and Megatron-Bridge take it for another one.",
     .remedy = "num_microbatches_with_partial_activation_checkpoints=null",
     .knobs = "num_microbatches_with_partial_activation_checkpoints",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.num_microbatches_with_partial_activation_checkpoints) return {};
       return fmt::format(
           "num_microbatches_with_partial_activation_checkpoints {} reaches no model's recompute",
           *k.num_microbatches_with_partial_activation_checkpoints);
     }},
    {.id = "recompute.labels-with-full",
     .dialects = kEverywhere,
     .outcome = kInactive,
     .because = "Full recompute reads no labels.",
     .remedy = "drop recompute_modules, or recompute_granularity=selective",
     .knobs = "recompute_modules recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!full(k) || !k.recompute_modules || names_nothing(*k.recompute_modules)) return {};
       return fmt::format("recompute_modules does nothing with full: {}",
                          joined(k.recompute_modules->words));
     }},
    {.id = "recompute.empty-labels",
     .dialects = kEverywhere,
     .outcome = kInactive,
     .because = "An empty list is legal and means: recompute nothing.",
     .remedy = "name labels, or recompute_granularity=null",
     .knobs = "recompute_modules recompute_granularity moe_layer_recompute",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!selective(k) || !k.recompute_modules || !names_nothing(*k.recompute_modules) ||
           k.moe_layer_recompute) {
         return {};
       }
       return "nothing is recomputed: recompute_modules is []";
     }},
};

}  // namespace

std::span<const Rule> granularity_rules() { return kGranularityRules; }

}  // namespace refrain::config
