// How layers are split over pipeline ranks and their chunks.
#include <algorithm>

#include "config/knobs/pipeline_layout.h"
#include "config/rules/model/parts.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

bool is_uneven(const Knobs& k) {
  return k.num_layers_in_first_pipeline_stage || k.num_layers_in_last_pipeline_stage;
}

bool accounts(const Knobs& k) {
  return k.account_for_embedding_in_pipeline_split || k.account_for_loss_in_pipeline_split;
}

/// Chunks a rank; 1 where there are none or their number makes no sense.
int64_t chunks(const Knobs& k) {
  return std::max<int64_t>(1, k.virtual_pipeline_model_parallel_size.value_or(1));
}

/// What remains between an uneven first and last stage.
struct Middle {
  int64_t layers, stages;
};
Middle middle_of(const Knobs& k) {
  Middle middle{k.num_layers, k.pipeline_model_parallel_size};
  for (const auto& end :
       {k.num_layers_in_first_pipeline_stage, k.num_layers_in_last_pipeline_stage}) {
    if (!end) continue;
    middle.layers -= *end;
    middle.stages -= 1;
  }
  return middle;
}

Complaint end_stage(const Knobs& k, std::string_view knob, const std::optional<int64_t>& layers) {
  if (!layers) return {};
  if (*layers <= 0) return fmt::format("{} must be 1 or more: {}", knob, *layers);
  if (*layers % chunks(k) == 0) return {};
  return fmt::format("{} must be a multiple of the chunks of a rank: {} and {}", knob, *layers,
                     chunks(k));
}

using Stages = std::optional<std::vector<std::string>>;

Stages stages_of(const Knobs& k) {
  return k.pipeline_model_parallel_layout ? layout_stages(*k.pipeline_model_parallel_layout)
                                          : std::nullopt;
}

/// Chunks a rank that an explicit layout means; 0 where it cannot be read.
int64_t chunks_of_layout(const Knobs& k) {
  const Stages stages = stages_of(k);
  const int64_t ranks = k.pipeline_model_parallel_size;
  if (!stages || ranks < 1 || static_cast<int64_t>(stages->size()) % ranks != 0) return 0;
  return static_cast<int64_t>(stages->size()) / ranks;
}

int64_t decoder_layers(const std::vector<std::string>& stages) {
  int64_t layers = 0;
  for (const std::string& stage : stages) layers += std::count(stage.begin(), stage.end(), 't');
  return layers;
}

constexpr std::string_view kSplitKnobs =
    "num_layers pipeline_model_parallel_size virtual_pipeline_model_parallel_size "
    "pipeline_model_parallel_layout";

/// What is wrong with a split that nothing but the numbers of ranks and chunks describes.
Complaint not_even(const Knobs& k) {
  if (is_uneven(k) || accounts(k) || k.pipeline_model_parallel_layout ||
      k.pipeline_model_parallel_size < 1) {
    return {};
  }
  const int64_t ranks = k.pipeline_model_parallel_size;
  if (k.num_layers % ranks == 0 && (k.num_layers / ranks) % chunks(k) == 0) return {};
  return fmt::format("{} layers must divide into {} ranks of {} chunks", k.num_layers, ranks,
                     chunks(k));
}

constexpr Rule kLayoutRules[] = {
    {.id = "layout.uneven-and-accounting",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Both say how many layers the ends have.",
     .remedy = "one of the two",
     .knobs = "num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage "
              "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_uneven(k) || !accounts(k)) return {};
       return "layers of the first or last stage exclude counting embedding or loss as layers";
     }},
    {.id = "layout.explicit-and-others",
     .dialects = since(kMcore_0_13_1),
     .outcome = kValueError,
     .because = "An explicit layout says all there is to say.",
     .remedy = "pipeline_model_parallel_layout alone",
     .knobs = "pipeline_model_parallel_layout num_layers_in_first_pipeline_stage "
              "num_layers_in_last_pipeline_stage account_for_embedding_in_pipeline_split "
              "account_for_loss_in_pipeline_split",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.pipeline_model_parallel_layout || (!is_uneven(k) && !accounts(k))) return {};
       return "pipeline_model_parallel_layout excludes every other way to split the layers";
     }},
    {.id = "layout.unreadable",
     .dialects = since(kMcore_0_13_1),
     .outcome = kAssertionError,
     .because =
         "A layout is written with E t m L | ( ) and *N, one stage a | for each chunk of each "
         "rank.",
     .remedy = "write it like Et*3|(tt|)*14tmL, with as many stages as ranks times chunks",
     .knobs = "pipeline_model_parallel_layout pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.pipeline_model_parallel_layout || chunks_of_layout(k) > 0) return {};
       const Stages stages = stages_of(k);
       return fmt::format("pipeline_model_parallel_layout must divide into {} ranks: {}{}",
                          k.pipeline_model_parallel_size,
                          in_quotes(*k.pipeline_model_parallel_layout),
                          stages ? fmt::format(" has {} stages", stages->size()) : "");
     }},
    {.id = "layout.number-of-layers",
     .dialects = since(kMcore_0_13_1),
     .outcome = kAssertionError,
     .because = "A layout places every decoder layer.",
     .remedy = "as many t as num_layers",
     .knobs = "pipeline_model_parallel_layout num_layers",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const Stages stages = stages_of(k);
       if (!stages || (s.dialect >= kBridge && k.num_layers == 0)) return {};
       if (decoder_layers(*stages) == k.num_layers) return {};
       return fmt::format("pipeline_model_parallel_layout must hold num_layers layers: {} and {}",
                          decoder_layers(*stages), k.num_layers);
     }},
    {.id = "layout.other-chunks",
     .dialects = since(kMcore_0_13_1),
     .outcome = kAssertionError,
     .because = "An explicit layout says how many chunks a rank has.",
     .remedy = "virtual_pipeline_model_parallel_size=null",
     .knobs = "virtual_pipeline_model_parallel_size pipeline_model_parallel_layout",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const int64_t told = chunks_of_layout(k);
       if (told == 0 || k.virtual_pipeline_model_parallel_size.value_or(told) == told) return {};
       return fmt::format("virtual_pipeline_model_parallel_size must be the layout's: {} and {}",
                          *k.virtual_pipeline_model_parallel_size, told);
     }},
    {.id = "layout.sets-chunks",
     .dialects = since(kMcore_0_13_1),
     .outcome = kFill,
     .because = "An explicit layout says how many chunks a rank has.",
     .remedy = "",
     .knobs = "virtual_pipeline_model_parallel_size pipeline_model_parallel_layout",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.virtual_pipeline_model_parallel_size || chunks_of_layout(k) <= 1) return {};
       return fmt::format("virtual_pipeline_model_parallel_size becomes {}", chunks_of_layout(k));
     },
     .rewrite =
         [](Knobs& k, const Context&) {
           k.virtual_pipeline_model_parallel_size = chunks_of_layout(k);
         }},
    {.id = "layout.first-stage",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Each chunk of the first rank has the same number of layers.",
     .remedy = "a multiple of the chunks, 1 or more",
     .knobs = "num_layers_in_first_pipeline_stage virtual_pipeline_model_parallel_size",
     .broken =
         [](const Knobs& k, const Context&) {
           return end_stage(k, "num_layers_in_first_pipeline_stage",
                            k.num_layers_in_first_pipeline_stage);
         }},
    {.id = "layout.last-stage",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Each chunk of the last rank has the same number of layers.",
     .remedy = "a multiple of the chunks, 1 or more",
     .knobs = "num_layers_in_last_pipeline_stage virtual_pipeline_model_parallel_size",
     .broken =
         [](const Knobs& k, const Context&) {
           return end_stage(k, "num_layers_in_last_pipeline_stage",
                            k.num_layers_in_last_pipeline_stage);
         }},
    {.id = "layout.no-middle",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "Layers between the ends need ranks, and ranks need layers.",
     .remedy = "first and last layers that leave the rest to the middle ranks",
     .knobs = "num_layers num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage "
              "pipeline_model_parallel_size pipeline_model_parallel_layout",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_uneven(k) || k.pipeline_model_parallel_layout) return {};
       const auto [layers, stages] = middle_of(k);
       if ((layers != 0) == (stages != 0)) return {};
       return fmt::format("{} layers remain between the ends for {} ranks", layers, stages);
     }},
    {.id = "layout.ends-too-long",
     .dialects = DialectSet(kRefrain),
     .outcome = kValueError,
     .because =
         "The ends have no more layers than the model, and no more ranks; Megatron's classes "
         "take what remains for a number, also below 0.",
     .remedy = "fewer layers in the first or last stage, or more ranks",
     .knobs = "num_layers num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage "
              "pipeline_model_parallel_size pipeline_model_parallel_layout",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_uneven(k) || k.pipeline_model_parallel_layout) return {};
       const auto [layers, stages] = middle_of(k);
       if (layers >= 0 && stages >= 0) return {};
       return fmt::format("the ends must leave 0 or more layers and ranks between them: {} and {}",
                          layers, stages);
     }},
    {.id = "layout.middle",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "The middle ranks and their chunks share the rest evenly.",
     .remedy = "a rest that the middle ranks and their chunks divide",
     .knobs = "num_layers num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage "
              "pipeline_model_parallel_size virtual_pipeline_model_parallel_size "
              "pipeline_model_parallel_layout",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_uneven(k) || k.pipeline_model_parallel_layout) return {};
       const auto [layers, stages] = middle_of(k);
       if (stages == 0 || (layers % stages == 0 && (layers / stages) % chunks(k) == 0)) return {};
       return fmt::format("{} layers between the ends must divide into {} ranks of {} chunks",
                          layers, stages, chunks(k));
     }},
    {.id = "layout.accounting",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Ranks and chunks share the layers, embedding and loss counted, evenly.",
     .remedy = "a number of layers that fits",
     .knobs = "num_layers account_for_embedding_in_pipeline_split "
              "account_for_loss_in_pipeline_split pipeline_model_parallel_size "
              "virtual_pipeline_model_parallel_size pipeline_model_parallel_layout",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!accounts(k) || is_uneven(k) || k.pipeline_model_parallel_layout ||
           k.pipeline_model_parallel_size < 1) {
         return {};
       }
       const int64_t counted = k.num_layers + (k.account_for_embedding_in_pipeline_split ? 1 : 0) +
                               (k.account_for_loss_in_pipeline_split ? 1 : 0);
       const int64_t ranks = k.pipeline_model_parallel_size;
       if (counted % ranks == 0 && (counted / ranks) % chunks(k) == 0) return {};
       return fmt::format(
           "{} layers, embedding and loss counted, must divide into {} ranks of {} "
           "chunks",
           counted, ranks, chunks(k));
     }},
    {.id = "layout.even",
     .dialects = DialectSet(kRefrain),
     .outcome = kValueError,
     .because = "Without an uneven split, ranks and chunks share the layers evenly; Megatron's "
                "classes say so when the model is built.",
     .remedy = "set num_layers_in_first_pipeline_stage or num_layers_in_last_pipeline_stage, or a "
               "pipeline size that divides",
     .knobs = kSplitKnobs,
     .broken = [](const Knobs& k, const Context&) { return not_even(k); }},
    {.id = "layout.even-when-built",
     .dialects = kEverywhere - DialectSet(kRefrain),
     .outcome = kNote,
     .because = "The class accepts it; building the model's layers raises an AssertionError.",
     .remedy = "set num_layers_in_first_pipeline_stage or num_layers_in_last_pipeline_stage, or a "
               "pipeline size that divides",
     .knobs = kSplitKnobs,
     .broken = [](const Knobs& k, const Context&) { return not_even(k); }},
};

}  // namespace

std::span<const Rule> layout_rules() { return kLayoutRules; }

}  // namespace refrain::config
