#include "cost/ops/labels.h"

namespace refrain::cost {
namespace {

constexpr LabelRow kRows[] = {
    {Label::kCoreAttn, "core_attn", false},
    {Label::kMlp, "mlp", false},
    {Label::kMoe, "moe", false},
    {Label::kSharedExperts, "shared_experts", false},
    {Label::kLayernorm, "layernorm", true},
    {Label::kMlaUpProj, "mla_up_proj", true},
    {Label::kMoeAct, "moe_act", true},
    {Label::kGdnNormOut, "gdn_norm_out", true},
};

}  // namespace

std::span<const LabelRow> label_rows() { return kRows; }

std::optional<Label> label_named(std::string_view name) {
  for (const LabelRow& row : kRows) {
    if (row.name == name) return row.label;
  }
  return std::nullopt;
}

LabelSet plain_labels() {
  LabelSet plain;
  for (const LabelRow& row : kRows) {
    if (!row.discards_output) plain.insert(row.label);
  }
  return plain;
}

}  // namespace refrain::cost
