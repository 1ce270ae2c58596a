#include "config/recipes/recipe_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

struct RecipeColumn {
  std::string_view column, knob;
};

constexpr RecipeColumn kRecipeKnobs[] = {
    {"tp", "tensor_model_parallel_size"},
    {"pp", "pipeline_model_parallel_size"},
    {"cp", "context_parallel_size"},
    {"ep", "expert_model_parallel_size"},
    {"etp", "expert_tensor_parallel_size"},
    {"mbs", "micro_batch_size"},
    {"gbs", "global_batch_size"},
    {"seq_len", "seq_length"},
    {"recompute_granularity", "recompute_granularity"},
    {"recompute_method", "recompute_method"},
    {"recompute_num_layers", "recompute_num_layers"},
};

/// A token of the performance harness's compute dtype, and what it configures
/// (Megatron-Bridge src/megatron/bridge/training/mixed_precision.py and perf_recipes/_common.py,
/// 067f987df03b; the model zoo's two in its sbatch_benchmarking.sh, f13818d69535).
struct Precision {
  std::string_view token, fp8, fp8_recipe, fp4, fp4_recipe;
};

constexpr Precision kPrecisions[] = {
    {"bf16", "", "", "", ""},
    {"fp8cs", "hybrid", "tensorwise", "", ""},  // current scaling
    {"fp8ds", "hybrid", "delayed", "", ""},     // delayed scaling
    {"fp8sc", "hybrid", "blockwise", "", ""},   // sub-channel scaling
    {"fp8mx", "e4m3", "mxfp8", "", ""},
    {"nvfp4", "", "", "e2m1", "nvfp4"},
    {"fp8", "e4m3", "blockwise", "", ""},  // model zoo
    {"mxfp8", "e4m3", "mxfp8", "", ""},    // model zoo
};

/// A piece of other_notes that is a knob: "piece" sets it to true, "piece=value" to the value.
constexpr RecipeColumn kRecipePieces[] = {
    {"sequence_parallel", "sequence_parallel"},
    {"tp_comm_overlap", "tp_comm_overlap"},
    {"ep_a2a_overlap", "overlap_moe_expert_parallel_comm"},
    {"delay_wgrad", "delay_wgrad_compute"},
    {"te_op_fuser", "use_transformer_engine_op_fuser"},
    {"forced balance", "moe_router_force_load_balancing"},
    {"moe_router_force_load_balancing", "moe_router_force_load_balancing"},
    {"moe_permute_fusion", "moe_permute_fusion"},
    {"moe_expert_capacity_factor", "moe_expert_capacity_factor"},
    {"moe_expert_rank_capacity_factor", "moe_expert_rank_capacity_factor"},
    {"mtp_num_layers", "mtp_num_layers"},
    {"mtp", "mtp_num_layers"},
    {"num_layers_in_first_pipeline_stage", "num_layers_in_first_pipeline_stage"},
    {"num_layers_in_last_pipeline_stage", "num_layers_in_last_pipeline_stage"},
    {"account_for_embedding_in_pipeline_split", "account_for_embedding_in_pipeline_split"},
    {"account_for_loss_in_pipeline_split", "account_for_loss_in_pipeline_split"},
};

void assign_precision(std::string_view token, Assigner& assign) {
  if (token.empty()) return;
  const auto known = std::find_if(std::begin(kPrecisions), std::end(kPrecisions),
                                  [&](const Precision& each) { return each.token == token; });
  RC_CHECK(known != std::end(kPrecisions), "{}", token);
  assign.set("bf16", true);
  assign.set_scalar("fp8", known->fp8);
  assign.set_scalar("fp8_recipe", known->fp8_recipe);
  assign.set_scalar("fp4", known->fp4);
  assign.set_scalar("fp4_recipe", known->fp4_recipe);
}

/// The model zoo passes no flag for one virtual stage (its sbatch_benchmarking.sh).
void assign_virtual_stages(RecipeTable table, std::string_view cell, Assigner& assign) {
  if (table == RecipeTable::kModelZoo && cell == "1") return;
  assign.set_scalar("virtual_pipeline_model_parallel_size", cell);
}

/// Layer offload takes activations alone in every recipe (cpu_offloading_weights = False in
/// perf_recipes/llama); before Megatron-Core 0.15 that is not the default.
void assign_offload(std::string_view cell, Assigner& assign, std::vector<std::string>& notes) {
  if (cell.empty()) return;
  for (const std::string& part : split(cell, '|')) {
    const std::string_view text = part;
    if (text.starts_with("layers=")) {
      assign.set("cpu_offloading", true);
      assign.set_scalar("cpu_offloading_num_layers", text.substr(text.find('=') + 1));
      assign.set("cpu_offloading_weights", false);
    } else if (text.starts_with("fine_grained:")) {
      assign.set("fine_grained_activation_offloading", true);
      assign.set_words("offload_modules", text.substr(text.find(':') + 1), '+');
    } else {
      notes.push_back(part);
    }
  }
}

/// `external` is the flag that cuda_graph_impl replaced. With impl full_iteration the recipes leave
/// the scope empty, and the table repeats the word there.
void assign_graphs(const CsvRecord& row, Assigner& assign) {
  const std::string& impl = row["cuda_graph_impl"];
  const std::string& scope = row["cuda_graph_scope"];
  if (impl == "external") {
    assign.set("external_cuda_graph", true);
  } else {
    assign.set_scalar("cuda_graph_impl", impl);
  }
  const bool repeated = impl == "full_iteration" && scope == impl;
  assign.set_words("cuda_graph_scope", repeated ? "[]" : scope);
}

/// True where `name` is a dispatcher that the table spells in one word.
bool assign_dispatcher(std::string_view name, Assigner& assign) {
  if (name == "alltoall") {
    assign.set("moe_token_dispatcher_type", "alltoall");
    return true;
  }
  if (name != "deepep" && name != "hybridep") return false;
  assign.set("moe_token_dispatcher_type", "flex");
  assign.set("moe_flex_dispatcher_backend", std::string(name));
  return true;
}

/// True where `text` is a layout; "<list of 16>" stands for one that was not recorded.
bool assign_layout(std::string_view text, Assigner& assign) {
  if (text.size() > 1 && text.front() == '\'' && text.back() == '\'') {
    text = text.substr(1, text.size() - 2);
  }
  if (text.starts_with("<")) return false;
  assign.set("pipeline_model_parallel_layout", std::string(text));
  return true;
}

/// True where the piece became a knob.
bool assign_piece(std::string_view piece, Assigner& assign) {
  const size_t equals = piece.find('=');
  const std::string_view name = piece.substr(0, equals);
  const std::string_view value = equals == piece.npos ? "true" : piece.substr(equals + 1);
  if (name == "dispatcher") return assign_dispatcher(value, assign);
  if (name == "pp_layout") return assign_layout(value, assign);
  for (const RecipeColumn& each : kRecipePieces) {
    if (name != each.column) continue;
    assign.set_scalar(each.knob, value);
    return true;
  }
  return false;
}

/// What the model zoo's scripts add to the table's words: sequence parallelism with every tensor
/// parallel run, and delayed weight gradients with the overlap (model_configs/benchmarking and
/// sbatch_benchmarking.sh, f13818d69535).
void assign_zoo_defaults(const CsvRecord& row, Assigner& assign) {
  if (parse_whole(row["tp"]).value_or(1) > 1) assign.set("sequence_parallel", true);
  if (assign.find("overlap_moe_expert_parallel_comm")) assign.set("delay_wgrad_compute", true);
}

std::string lower_words(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    made += std::isalnum(byte) ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return made;
}

/// The value of a piece of the row's notes that begins with `name`, which ends in '='.
std::string noted(const CsvRecord& row, std::string_view name) {
  for (const std::string& piece : split(row["other_notes"], ';')) {
    if (piece.starts_with(name)) return piece.substr(name.size());
  }
  return {};
}

/// The label of a model-zoo row; nothing for its usual one.
std::string label_of(const CsvRecord& row) {
  std::string label = noted(row, "label=");
  return label == "baseline" ? std::string() : label;
}

std::string made_id(const CsvRecord& row) {
  const std::vector<std::string> pieces = split(row["other_notes"], ';');
  const bool balanced = std::find(pieces.begin(), pieces.end(), "forced balance") != pieces.end();
  const int64_t thousands = parse_whole(row["seq_len"]).value_or(0) / 1024;
  std::string id = fmt::format("{}_{}_{}gpu", row["model"], row["task"], row["num_gpus"]);
  for (const std::string& part :
       {row["gpu"], row["precision"], fmt::format("{}k", thousands),
        row["tp"].empty() ? "" : "tp" + row["tp"], row["pp"].empty() ? "" : "pp" + row["pp"],
        std::string(balanced ? "balanced" : ""), label_of(row), row["family"]}) {
    if (!part.empty()) id += "_" + part;
  }
  return lower_words(id);
}

}  // namespace

std::string_view to_text(RecipeTable table) {
  switch (table) {
    case RecipeTable::kBridge:
      return "bridge_recipes";
    case RecipeTable::kBridgeLibrary:
      return "bridge_recipes_library";
    case RecipeTable::kModelZoo:
      return "mlm_modelzoo_recipes";
  }
  RC_CHECK(false, "{}", static_cast<int>(table));
}

std::string id_of(const CsvRecord& row) {
  const std::string& source = row["source_path"];
  const size_t colon = source.rfind(':');
  return colon == source.npos ? made_id(row) : lower_words(source.substr(colon + 1));
}

std::string hf_id_of(const CsvRecord& row) { return noted(row, "hf="); }

void assign_row(RecipeTable table, const CsvRecord& row, Assigner& assign,
                std::vector<std::string>& notes) {
  for (const RecipeColumn& each : kRecipeKnobs) assign.set_scalar(each.knob, row[each.column]);
  assign_virtual_stages(table, row["vpp"], assign);
  assign.set_words("recompute_modules", row["recompute_modules"]);
  assign_offload(row["cpu_offloading"], assign, notes);
  assign_graphs(row, assign);
  assign_precision(row["precision"], assign);
  if (!row["other_notes"].empty()) {
    for (std::string& piece : split(row["other_notes"], ';')) {
      if (!assign_piece(piece, assign)) notes.push_back(std::move(piece));
    }
  }
  if (table == RecipeTable::kModelZoo) assign_zoo_defaults(row, assign);
}

}  // namespace refrain::config
