// The recompute settings that Megatron can express for a model: what people choose between.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "mcore/run.h"

namespace refrain::plan {

/// "none", "selective:mlp,core_attn", "full:uniform:1", "full:block:4".
std::string to_text(const mcore::Recompute& recompute);

/// Flags of Megatron-LM's command line, and Megatron-Bridge's overrides, for the setting.
std::string megatron_lm_flags(const mcore::Recompute& recompute);
std::string bridge_overrides(const mcore::Recompute& recompute);

/// Reads what to_text writes. Findings: `recompute.unreadable`, `recompute.unknown-label` with the
/// nearest, `recompute.num-layers`.
Checked<mcore::Recompute> read_setting(std::string_view text, const mcore::Model& model);

/// Labels that name something in this model, as Megatron-Core knows them.
std::vector<std::string> labels_of(const mcore::Model& model);

/// The settings people publish: none, each label, the usual combinations, full in its forms.
std::vector<mcore::Recompute> usual_settings(const mcore::Run& run);

/// Everything Megatron can express: every subset of labels, and full with every number of layers a
/// chunk.
std::vector<mcore::Recompute> all_settings(const mcore::Run& run);

}  // namespace refrain::plan
