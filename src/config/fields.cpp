#include "config/fields.h"

#include <fmt/format.h>

#include <vector>

#include "config/scan.h"

namespace refrain::config {
namespace {

std::string number(auto value) { return fmt::format("{}", value); }

std::string value_of(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "absent" : found->second;
}

}  // namespace

Fields fields_of(const ModelConfig& model) {
  // Bound by position: a new field of ModelConfig does not compile here until it is added below.
  const auto& [name, num_layers, hidden, num_heads, num_kv_heads, head_dim, ffn_hidden, vocab,
               max_positions, norm, norm_eps, position, rope_base, activation, qkv_bias,
               linear_bias, qk_norm, tied_embeddings] = model;
  return {{"name", name},
          {"num_layers", number(num_layers)},
          {"hidden", number(hidden)},
          {"num_heads", number(num_heads)},
          {"num_kv_heads", number(num_kv_heads)},
          {"head_dim", number(head_dim)},
          {"ffn_hidden", number(ffn_hidden)},
          {"vocab", number(vocab)},
          {"max_positions", number(max_positions)},
          {"norm", std::string(to_text(norm))},
          {"norm_eps", number(norm_eps)},
          {"position", std::string(to_text(position))},
          {"rope_base", number(rope_base)},
          {"activation", std::string(to_text(activation))},
          {"qkv_bias", number(qkv_bias)},
          {"linear_bias", number(linear_bias)},
          {"qk_norm", number(qk_norm)},
          {"tied_embeddings", number(tied_embeddings)}};
}

Fields fields_of(const RunShape& shape) {
  const auto& [micro_batch, seq, num_micro_batches, precision, attention, dropout, clip_grad,
               threads] = shape;
  return {{"micro_batch", number(micro_batch)},
          {"seq", number(seq)},
          {"num_micro_batches", number(num_micro_batches)},
          {"precision", std::string(to_text(precision))},
          {"attention", std::string(to_text(attention))},
          {"dropout", number(dropout)},
          {"clip_grad", number(clip_grad)},
          {"threads", number(threads)}};
}

std::string differences(const Fields& saved, const Fields& asked, std::string_view where) {
  Fields all = saved;
  all.insert(asked.begin(), asked.end());
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) {
    const std::string was = value_of(saved, name), wanted = value_of(asked, name);
    if (was != wanted) {
      lines.push_back(fmt::format("{}: {} {}, {} asked for", name, was, where, wanted));
    }
  }
  return joined(lines, "; ");
}

Fields without_name(Fields model) {
  model.erase("name");
  return model;
}

}  // namespace refrain::config
