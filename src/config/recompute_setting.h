// What the user asked to recompute, in Megatron's vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace refrain::config {

enum class Granularity { kNone, kSelective, kFull };
enum class FullMethod { kUniform, kBlock };

/// What a dropped activation's replay covers: only what backward demands, or Megatron's regions.
enum class ReplayPolicy { kDemand, kRegion };
std::string_view to_text(ReplayPolicy policy);

/// The labels that dense decoders have, in the order of label_table.h: Megatron's, and `pointwise`,
/// ours: every activation that a replay without a GEMM or attention gives back.
enum class Label { kCoreAttn, kLayernorm, kMlp, kPointwise };

struct LabelRow {
  Label label;
  std::string_view name;
  std::string_view meaning;  // one line, for help and docs/labels.md
};
/// One row an enumerator, in their order.
const std::vector<LabelRow>& label_rows();
std::string_view to_text(Label label);

struct RecomputeSetting {
  Granularity granularity = Granularity::kNone;
  std::vector<Label> labels;  // selective: sorted, unique
  FullMethod method = FullMethod::kUniform;
  int64_t num_layers = 1;  // full: layers a group (uniform) or layers recomputed (block)

  bool operator==(const RecomputeSetting&) const = default;
};

/// "none", "selective:layernorm,mlp", "full:uniform:2": what parse_recompute reads back.
std::string to_text(const RecomputeSetting& setting);

/// Reads `none`, `full:uniform:K`, `full:block:K`, `selective:label,label`. Findings name the
/// knob, the value and the nearest right one.
Checked<RecomputeSetting> parse_recompute(std::string_view text);

/// The Megatron spellings of the same, as given on a command line; absent is not empty.
struct MegatronRecompute {
  std::optional<std::string> granularity;
  std::optional<std::vector<std::string>> modules;
  std::optional<std::string> method;
  std::optional<std::string> num_layers;
};
Checked<RecomputeSetting> parse_recompute(const MegatronRecompute& spelling);

}  // namespace refrain::config
