#include "plan/run_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/scan.h"

namespace refrain::plan {
namespace {

using config::Fields;

constexpr size_t kMostComplaints = 30;

/// Reads fields by name; complaints are collected.
class FieldsReader {
 public:
  explicit FieldsReader(const Fields& fields) : fields_(fields) {}

  void read(const char* name, std::string& target) {
    if (const std::string* text = find(name)) target = *text;
  }
  void read(const char* name, int64_t& target) {
    take(name, target, config::parse_whole, "a whole number");
  }
  void read(const char* name, double& target) {
    take(name, target, config::parse_real, "a number");
  }
  void read(const char* name, bool& target) {
    const auto parse = [](std::string_view text) -> std::optional<bool> {
      if (text == "true" || text == "false") return text == "true";
      return std::nullopt;
    };
    take(name, target, parse, "true or false");
  }
  template <class Kind>
  void read(const char* name, Kind& target, const std::vector<Kind>& kinds) {
    std::vector<std::string> words;
    for (const Kind kind : kinds) words.emplace_back(to_text(kind));
    const auto parse = [&](std::string_view text) -> std::optional<Kind> {
      const auto found = std::ranges::find(words, text);
      if (found == words.end()) return std::nullopt;
      return kinds[found - words.begin()];
    };
    take(name, target, parse, config::joined(words, " or "));
  }

  /// `value`, where it has no other fields than those that were given.
  template <class T>
  Checked<T> accept(const T& value) {
    const Fields known = config::fields_of(value);
    for (const auto& [name, text] : fields_) {
      if (findings_.size() >= kMostComplaints) break;
      if (!known.contains(name)) complain(name, "a field that a run has", text);
    }
    if (rejects(findings_)) return Checked<T>::reject(std::move(findings_));
    return Checked<T>::accept(value);
  }

 private:
  const std::string* find(const char* name) {
    const auto found = fields_.find(name);
    if (found != fields_.end()) return &found->second;
    complain(name, "there", "absent");
    return nullptr;
  }

  void take(const char* name, auto& target, auto parse, std::string_view must) {
    const std::string* text = find(name);
    if (!text) return;
    const auto value = parse(*text);
    if (!value) return complain(name, must, *text);
    target = *value;
  }

  void complain(std::string_view name, std::string_view must, std::string_view found) {
    findings_.push_back({"plan.run",
                         fmt::format("{} of a plan's run must be {}: {}", config::in_quotes(name),
                                     must, config::in_quotes(found)),
                         "make the plan again: refrain plan --save FILE"});
  }

  const Fields& fields_;
  Findings findings_;
};

}  // namespace

Checked<config::ModelConfig> model_of_fields(const Fields& fields) {
  using config::ActivationKind, config::NormKind, config::PositionKind;
  config::ModelConfig model;
  FieldsReader reader(fields);
  reader.read("name", model.name);
  reader.read("num_layers", model.num_layers);
  reader.read("hidden", model.hidden);
  reader.read("num_heads", model.num_heads);
  reader.read("num_kv_heads", model.num_kv_heads);
  reader.read("head_dim", model.head_dim);
  reader.read("ffn_hidden", model.ffn_hidden);
  reader.read("vocab", model.vocab);
  reader.read("max_positions", model.max_positions);
  reader.read("norm", model.norm, {NormKind::kLayerNorm, NormKind::kRmsNorm});
  reader.read("norm_eps", model.norm_eps);
  reader.read("position", model.position, {PositionKind::kLearned, PositionKind::kRope});
  reader.read("rope_base", model.rope_base);
  reader.read("activation", model.activation,
              {ActivationKind::kGeluTanh, ActivationKind::kGeluErf, ActivationKind::kSwiglu});
  reader.read("qkv_bias", model.qkv_bias);
  reader.read("linear_bias", model.linear_bias);
  reader.read("qk_norm", model.qk_norm);
  reader.read("tied_embeddings", model.tied_embeddings);
  return reader.accept(model);
}

Checked<config::RunShape> shape_of_fields(const Fields& fields) {
  using config::AttentionBackend, config::Precision;
  config::RunShape shape;
  FieldsReader reader(fields);
  reader.read("micro_batch", shape.micro_batch);
  reader.read("seq", shape.seq);
  reader.read("num_micro_batches", shape.num_micro_batches);
  reader.read("precision", shape.precision, {Precision::kF32, Precision::kBf16, Precision::kF64});
  reader.read("attention", shape.attention, {AttentionBackend::kFused, AttentionBackend::kUnfused});
  reader.read("dropout", shape.dropout);
  reader.read("clip_grad", shape.clip_grad);
  reader.read("threads", shape.threads);
  return reader.accept(shape);
}

}  // namespace refrain::plan
