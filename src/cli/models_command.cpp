// `refrain models`: the models known by name, as a table or as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/spine.h"
#include "config/model_config.h"
#include "model/dense.h"

namespace refrain::cli {
namespace {

constexpr CommandText kModels = {"refrain models", "Lists the models known by name.",
                                 "  refrain models\n  refrain models --json\n"};

int64_t num_parameters(const config::ModelConfig& model) {
  config::RunShape shape;  // parameters do not depend on it
  shape.seq = 1;
  return model::num_trained(model::collect_params(model::build_dense(model, shape)));
}

std::string style_of(const config::ModelConfig& model) {
  std::string style = fmt::format("{}, {}, {}", to_text(model.norm), to_text(model.position),
                                  to_text(model.activation));
  if (model.qk_norm) style += ", q/k norm";
  if (model.qkv_bias || model.linear_bias) style += model.linear_bias ? ", biases" : ", qkv bias";
  if (model.tied_embeddings) style += ", tied";
  return style;
}

/// "124.4M", "8.03B": three or four figures, for people.
std::string rounded(int64_t count) {
  const auto number = static_cast<double>(count);
  if (number >= 1e9) return fmt::format("{:.2f}B", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.1f}M", number / 1e6);
  return fmt::format("{:.1f}K", number / 1e3);
}

std::string table_of_models() {
  TextTable table({{"name"},
                   {"parameters", Align::kRight},
                   {"layers", Align::kRight},
                   {"hidden", Align::kRight},
                   {"heads", Align::kRight},
                   {"kv", Align::kRight},
                   {"ffn", Align::kRight},
                   {"vocab", Align::kRight},
                   {"positions", Align::kRight},
                   {"style"}});
  const auto number = [](int64_t n) { return fmt::format("{}", n); };
  for (const config::ModelConfig& model : config::named_models()) {
    table.add_row({model.name, rounded(num_parameters(model)), number(model.num_layers),
                   number(model.hidden), number(model.num_heads), number(model.num_kv_heads),
                   number(model.ffn_hidden), number(model.vocab), number(model.max_positions),
                   style_of(model)});
  }
  return table.to_text();
}

std::string json_of_models() {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const config::ModelConfig& model : config::named_models()) {
    models.push_back({{"name", model.name},
                      {"parameters", num_parameters(model)},
                      {"layers", model.num_layers},
                      {"hidden", model.hidden},
                      {"heads", model.num_heads},
                      {"kv_heads", model.num_kv_heads},
                      {"head_dim", model.head_dim},
                      {"ffn", model.ffn_hidden},
                      {"vocab", model.vocab},
                      {"positions", model.max_positions},
                      {"style", style_of(model)}});
  }
  return models.dump() + "\n";
}

}  // namespace

int models_command(const std::vector<std::string>& arguments) {
  bool json = false;
  CommandLine line(kModels);
  line.add_switch({"--json", "", "one JSON list on stdout"}, json);
  const Reading reading = line.read(arguments);
  if (reading.help) return print(*reading.help), kExitOk;
  if (rejects(reading.findings)) return tell(reading.findings), kExitFindings;
  print(json ? json_of_models() : table_of_models());
  return kExitOk;
}

}  // namespace refrain::cli
