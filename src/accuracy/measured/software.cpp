#include "accuracy/measured/software.h"

#include <algorithm>
#include <cctype>

#include "accuracy/measured/recipe_match.h"
#include "config/scan.h"

namespace refrain::accuracy {
namespace {

using config::contains;
using mcore::Recompute;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct Spelling {
  std::string_view written, token;
};
/// FP8 alone is current scaling: the harness's default.
constexpr Spelling kPrecisions[] = {{"", "bf16"},
                                    {"bf16", "bf16"},
                                    {"mxfp8", "fp8mx"},
                                    {"fp8_mx", "fp8mx"},
                                    {"fp8-mx", "fp8mx"},
                                    {"nvfp4", "nvfp4"},
                                    {"fp8", "fp8cs"},
                                    {"fp8-cs", "fp8cs"},
                                    {"fp8_cs", "fp8cs"},
                                    {"fp8 (unstated)", "fp8cs"},
                                    {"fp8 current scaling", "fp8cs"},
                                    {"fp8-cs (fp8-mx)", "fp8cs"}};

/// "optimizer states 25% to CPU": a quarter.
double share_of(std::string_view text) {
  const size_t percent = text.find('%');
  if (percent == std::string_view::npos) return 1.0;
  const size_t blank = text.substr(0, percent).rfind(' ');
  const size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
  return std::clamp(config::parse_real(text.substr(begin, percent - begin)).value_or(100), 0.0,
                    100.0) /
         100;
}

/// The first dispatcher that `words` name; "" where they name none.
std::string dispatcher_in(std::string_view words) {
  for (const std::string_view name : {"alltoall", "deepep", "hybridep"}) {
    if (contains(words, name)) return std::string(name);
  }
  return {};
}

std::string recipe_dispatcher(const config::Recipe& recipe) {
  for (const std::string_view knob : {"moe_flex_dispatcher_backend", "moe_token_dispatcher_type"}) {
    const config::Value* value = recipe_value(recipe, knob);
    if (value && value->is_string()) return dispatcher_in(value->get<std::string>());
  }
  return {};
}

/// Releases before 26.02 ran DeepEP; what is published without a release ran on H100 all-to-all.
std::string usual_dispatcher(const RowReader& row, int compute_capability) {
  const int64_t release = release_of(row);
  if (release > 0) return release < 2602 ? "deepep" : "hybridep";
  const bool verified = contains(remarks_of(row), "model_verification");
  return compute_capability == 90 && !verified ? "alltoall" : "hybridep";
}

/// What the row itself calls the dispatcher; "" where it says nothing.
std::string said_dispatcher(const RowReader& row) {
  return dispatcher_in(lower(row.text("parallelism")) + " " + remarks_of(row));
}

std::string dispatcher_of(const RowReader& row, const RecipeOfRow& known, const mcore::Run& run) {
  std::string said = said_dispatcher(row);
  if (said.empty() && known.named) said = recipe_dispatcher(*known.recipe);
  return said.empty() ? usual_dispatcher(row, run.place.compute_capability) : said;
}

bool captures_iterations(const config::Recipe& recipe) {
  for (const std::string_view knob : {"cuda_graph_impl", "cuda_graph_scope"}) {
    const config::Value* value = recipe_value(recipe, knob);
    if (value && contains(value->dump(), "full_iteration")) return true;
  }
  return false;
}

/// Qwen3 235B on H100 is the one recipe that overlapped in every release.
bool always_overlapped(const RowReader& row, const mcore::Run& run) {
  return release_of(row) > 0 && run.place.compute_capability == 90 &&
         contains(lower(row.text("model")), "235b");
}

/// Whether expert traffic runs beside the other half of a batch. A row that says which dispatcher
/// it ran says this too. The recipes are those of 26.04 and later; they changed it together with
/// their graphs, so one that only matches counts where the graphs are the row's.
bool overlaps_experts(const RowReader& row, const RecipeOfRow& known, const mcore::Run& run) {
  constexpr std::string_view kOverlap = "overlap_moe_expert_parallel_comm";
  const std::string remarks = remarks_of(row);
  if (contains(remarks, "ep overlap off")) return false;
  if (contains(remarks, "ep overlap") || contains(remarks, "1f1b")) return true;
  if (known.named) return recipe_truth(*known.recipe, kOverlap);
  const bool whole_graph = run.place.graphs.contains("full_iteration");
  if (!said_dispatcher(row).empty()) return whole_graph;
  if (known.recipe && release_of(row) >= 2604 &&
      captures_iterations(*known.recipe) == whole_graph) {
    return recipe_truth(*known.recipe, kOverlap);
  }
  return whole_graph || always_overlapped(row, run);
}

}  // namespace

std::string remarks_of(const RowReader& row) {
  return lower(row.text("notes")) + " " + lower(row.text("source"));
}

int64_t release_of(const RowReader& row) {
  const std::string text = lower(row.text("container_or_rev"));
  const size_t at = text.find("nemo");
  if (at == std::string::npos || text.size() < at + 10) return 0;
  const std::string_view number = std::string_view(text).substr(at + 5, 5);  // "26.04"
  const auto year = config::parse_whole(number.substr(0, 2));
  const auto month = config::parse_whole(number.substr(3));
  return year && month && number[2] == '.' ? *year * 100 + *month : 0;
}

std::string precision_of(RowReader& row) {
  const std::string cell = lower(row.text("precision"));
  for (const Spelling& each : kPrecisions) {
    if (each.written == cell) return std::string(each.token);
  }
  row.complain("precision", "BF16, FP8, FP8-CS, FP8-MX, MXFP8 or NVFP4");
  return "bf16";
}

Recompute read_measured_recompute(RowReader& row) {
  Recompute recompute;
  const std::string_view granularity = row.text("recompute_granularity");
  if (granularity == "full") {
    const bool block = row.text("recompute_method") == "block";
    recompute.method = block ? Recompute::Method::kBlock : Recompute::Method::kUniform;
    recompute.num_layers = row.whole_or("recompute_num_layers", 1);
  } else if (granularity == "selective") {
    recompute.method = Recompute::Method::kSelective;
    for (std::string& label : row.words("recompute_modules")) {
      if (label != "none") recompute.labels.insert(std::move(label));
    }
    if (!row.given("recompute_modules")) recompute.labels = {"core_attn"};
  } else if (!granularity.empty()) {
    row.complain("recompute_granularity", "full, selective or nothing");
  }
  return recompute;
}

std::set<std::string> read_measured_graphs(RowReader& row) {
  const std::string cell = lower(row.text("cuda_graph"));
  const bool none = cell.starts_with("none");
  if (contains(cell, "full_iteration") && (!none || cell.starts_with("none:"))) {
    return {"full_iteration"};
  }
  if (none || !contains(cell, "transformer_engine")) return {};
  if (contains(cell, "partial")) return {"attn", "moe_router", "moe_preprocess"};
  std::set<std::string> scopes;
  std::string words = cell;
  for (char& c : words) {
    if (c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0) c = ' ';
  }
  for (const std::string& word : config::split(words, ' ')) {
    for (const std::string_view scope : {"attn", "moe_router", "moe_preprocess", "mamba", "mlp"}) {
      if (word == scope) scopes.insert(word);
    }
  }
  return scopes;
}

void read_measured_offload(RowReader& row, mcore::Run& run) {
  const std::string cell = lower(row.text("offload"));
  constexpr std::string_view kModules = "fine-grained:", kLayers = "layers=";
  if (contains(cell, "optimizer")) run.optimizer.offload_fraction = share_of(cell);
  if (cell.starts_with(kModules)) {
    for (std::string& word : config::split(config::trimmed(cell.substr(kModules.size())), ' ')) {
      run.offload.modules.insert(std::move(word));
    }
  }
  if (cell.starts_with(kLayers)) {
    const auto layers = config::parse_whole(std::string_view(cell).substr(kLayers.size()));
    run.offload.num_layers = std::clamp<int64_t>(layers.value_or(0), 0, 1 << 14);
  }
  run.place.offloads_activations = contains(cell, "layers") || cell.starts_with(kModules);
}

void read_measured_overlap(const RowReader& row, const RecipeOfRow& known, mcore::Run& run) {
  run.place.tp_overlap = run.model.experts.num_experts == 0 && run.parallel.tensor > 1;
  if (run.model.experts.num_experts == 0) return;
  run.model.experts.dispatcher = dispatcher_of(row, known, run);
  run.place.ep_overlap = overlaps_experts(row, known, run);
}

}  // namespace refrain::accuracy
