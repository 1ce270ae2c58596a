#include "config/recipes/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "config/recipes/assigner.h"
#include "config/recipes/csv.h"
#include "config/recipes/supplement.h"
#include "config/recipes/tables.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

struct Column {
  std::string_view column, knob;
};

constexpr Column kKnobs[] = {
    {"num_layers", "num_layers"},
    {"hidden_size", "hidden_size"},
    {"ffn_hidden_size", "ffn_hidden_size"},
    {"num_attention_heads", "num_attention_heads"},
    {"num_query_groups", "num_query_groups"},
    {"head_dim", "kv_channels"},
    {"qk_norm", "qk_layernorm"},
    {"gated", "gated_linear_unit"},
    {"rope_base", "rotary_base"},
    {"rope_fraction", "rotary_percent"},
    {"linear_bias", "add_bias_linear"},
    {"qkv_bias", "add_qkv_bias"},
    {"num_experts", "num_moe_experts"},
    {"topk", "moe_router_topk"},
    {"moe_ffn_hidden_size", "moe_ffn_hidden_size"},
    {"shared_expert_ffn_total", "moe_shared_expert_intermediate_size"},
    {"moe_latent_size", "moe_latent_size"},
    {"kv_lora_rank", "kv_lora_rank"},
    {"qk_nope_head_dim", "qk_head_dim"},
    {"qk_rope_head_dim", "qk_pos_emb_head_dim"},
    {"v_head_dim", "v_head_dim"},
    {"mtp_layers", "mtp_num_layers"},
    {"mamba_num_heads", "mamba_num_heads"},
    {"mamba_head_dim", "mamba_head_dim"},
    {"mamba_state_dim", "mamba_state_dim"},
    {"mamba_groups", "mamba_num_groups"},
};

/// What Megatron's configuration classes have no field for.
constexpr std::string_view kNoted[] = {
    "vocab_size",     "vocab_pad_multiple", "tied_embeddings", "position_embedding",
    "attention_kind", "num_shared_experts", "hybrid_pattern"};

constexpr size_t kLongestName = 100;

/// Without what stands in brackets: "Kimi K2 (1T-A32B)" is "Kimi K2".
std::string_view before_bracket(std::string_view text) {
  return trimmed(text.substr(0, text.find('(')));
}

std::vector<std::string> names_of(std::string_view cell) {
  const std::string_view names = before_bracket(cell);
  return names.empty() ? std::vector<std::string>{} : split(names, ' ');
}

/// "[0]*3+[1]*58": three zeros, then 58 ones.
Value layer_flags(std::string_view cell) {
  Value flags = Value::array();
  for (const std::string& run : split(cell, '+')) {
    const std::string_view text = run;
    const auto count = parse_whole(text.substr(std::min(text.size(), text.find("]*") + 2)));
    RC_CHECK((text.starts_with("[0]*") || text.starts_with("[1]*")) && count, "{}", run);
    for (int64_t i = 0; i < *count; ++i) flags.push_back(text[1] - '0');
  }
  return flags;
}

/// A list where the first layers are dense and the row says how many, or as the row has it.
void set_layer_frequency(const CsvRecord& row, Assigner& assign) {
  const std::string& cell = row["moe_layer_freq"];
  if (cell.starts_with("[")) return assign.set("moe_layer_freq", layer_flags(cell));
  const auto dense = parse_whole(row["first_k_dense"]);
  const auto layers = parse_whole(row["num_layers"]);
  if (cell.empty() && dense.value_or(0) > 0 && layers) {
    const std::string flags = fmt::format("[0]*{}+[1]*{}", *dense, *layers - *dense);
    return assign.set("moe_layer_freq", layer_flags(flags));
  }
  assign.set_scalar("moe_layer_freq", cell);
}

/// The variants by the words of the row (Megatron's TransformerConfig has one knob a kind).
void set_attention(const CsvRecord& row, Assigner& assign) {
  const std::string& kind = row["attention_kind"];
  if (kind.starts_with("MLA")) assign.set("multi_latent_attention", true);
  if (contains(kind, "dynamic sparse attention")) {
    assign.set("experimental_attention_variant", "dsa");
  }
  if (contains(kind, "Gated DeltaNet")) {
    assign.set("experimental_attention_variant", "gated_delta_net");
    assign.set("linear_attention_freq", 4);  // every row: three layers of it, then one of softmax
  }
  if (contains(kind, "hyper-connection")) assign.set("enable_mhc_connections", true);
  if (contains(kind, "hybrid Mamba")) assign.set("is_hybrid_model", true);
  if (row["q_lora_rank"] == "none") return assign.set("q_lora_rank", nullptr);
  assign.set_scalar("q_lora_rank", row["q_lora_rank"]);
}

Assignments assignments_of(const CsvRecord& row) {
  Assigner assign(row["model"]);
  for (const Column& each : kKnobs) assign.set_scalar(each.knob, row[each.column]);
  assign.set_scalar("normalization", before_bracket(row["norm_type"]));
  if (contains(row["norm_type"], "zero-centred")) {
    assign.set("layernorm_zero_centered_gamma", true);
  }
  assign.set_scalar("activation_func", before_bracket(row["activation"]));
  set_attention(row, assign);
  set_layer_frequency(row, assign);
  for (const Supplement* each : supplements_of({"architecture:" + row["model"]})) {
    assign.set(each->knob, each->value);
  }
  return std::move(assign).take();
}

std::optional<bool> truth_of(std::string_view cell) {
  if (cell.empty()) return std::nullopt;
  return cell == "True";
}

BesideKnobs beside_knobs_of(const CsvRecord& row) {
  return {.vocab_size = parse_whole(row["vocab_size"]),
          .vocab_divisible_by = parse_whole(row["vocab_pad_multiple"]),
          .tied_embeddings = truth_of(row["tied_embeddings"]),
          .position_embedding = row["position_embedding"],
          .attention_kind = row["attention_kind"],
          .hybrid_pattern = row["hybrid_pattern"]};
}

Architecture architecture_of(const CsvRecord& row) {
  Architecture made{.name = row["model"],
                    .hf_ids = names_of(row["hf_id"]),
                    .recipe_names = names_of(row["recipe_names"]),
                    .assignments = assignments_of(row),
                    .beside_knobs = beside_knobs_of(row),
                    .source = row["source_path"]};
  for (const std::string_view column : kNoted) {
    if (const std::string& cell = row[column]; !cell.empty()) {
      made.notes.push_back(fmt::format("{}={}", column, cell));
    }
  }
  if (!row["notes"].empty()) made.notes.push_back(row["notes"]);
  return made;
}

/// Letters and digits alone, in lower case.
std::string folded(std::string_view name) {
  std::string key;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) key += static_cast<char>(std::tolower(byte));
  }
  return key;
}

/// What one may call it.
std::vector<std::string> all_names(const Architecture& architecture) {
  std::vector<std::string> names = {architecture.name,
                                    std::string(before_bracket(architecture.name))};
  names.insert(names.end(), architecture.hf_ids.begin(), architecture.hf_ids.end());
  names.insert(names.end(), architecture.recipe_names.begin(), architecture.recipe_names.end());
  return names;
}

}  // namespace

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = [] {
    const CsvTable table(kModelArchText);
    std::vector<Architecture> made;
    for (const CsvRecord& row : table.records()) made.push_back(architecture_of(row));
    return made;
  }();
  return all;
}

const Architecture* architecture_named(std::string_view name) {
  static const std::unordered_map<std::string, const Architecture*> by_name = [] {
    std::unordered_map<std::string, const Architecture*> made;
    for (const Architecture& each : architectures()) {
      for (const std::string& known : all_names(each)) made.emplace(folded(known), &each);
    }
    return made;
  }();
  const auto found = by_name.find(folded(name));
  return found == by_name.end() ? nullptr : found->second;
}

Checked<Architecture> find_architecture(std::string_view name) {
  if (const Architecture* found = architecture_named(name)) {
    return Checked<Architecture>::accept(*found);
  }
  std::map<std::string, std::string> spelt;  // by how it is compared; recipe names win
  for (const Architecture& each : architectures()) {
    if (name.size() > kLongestName) break;  // a distance to such a text says nothing, and is slow
    for (std::string& known : all_names(each)) spelt[folded(known)] = std::move(known);
  }
  std::vector<std::string> candidates;
  for (const auto& [key, known] : spelt) candidates.push_back(key);
  const auto near = nearest(folded(name), candidates);
  return Checked<Architecture>::reject(
      {{"architecture.unknown",
        fmt::format("an architecture must be one of the {} known ones: {}", architectures().size(),
                    in_quotes(name)),
        near ? fmt::format("did you mean {}?", spelt.at(*near))
             : "name one by its recipe name or Hugging Face id, such as llama3_70b"}});
}

}  // namespace refrain::config
