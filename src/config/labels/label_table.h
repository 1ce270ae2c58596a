// Every word of recompute_modules and of offload_modules: what it names, what it frees, and since
// when it is known. Parsers, rules, `refrain explain` and docs/labels.md read it, and nothing else
// says what a label is.
#pragma once

#include <span>
#include <string_view>

namespace refrain::config {

/// The knob whose list a label stands in.
enum class LabelList { kRecompute, kOffload };
/// "recompute_modules" or "offload_modules".
std::string_view to_text(LabelList list);

// What `ModuleLabel::since` says beside releases.
constexpr std::string_view kMegatronMain = "main";     // no release has it yet
constexpr std::string_view kRefrainAlone = "refrain";  // no label of Megatron's

struct ModuleLabel {
  LabelList list;
  std::string_view name;
  std::string_view since;     // Megatron-Core's first release with it, or one of the above
  std::string_view needs;     // layers that dense decoders do not have; empty: none
  std::string_view meaning;   // what it names, in one line
  std::string_view kept;      // recompute: what a replay starts from
  std::string_view replayed;  // recompute: what runs again, and when
  std::string_view freed;     // what is dropped; offload: what is copied to the host
};

/// In the order in which messages list them. Sources: Megatron-Core's TransformerConfig
/// (recompute_modules, offload_modules), the modules' forward functions, and the documentation of
/// fine-grained activation offload.
std::span<const ModuleLabel> label_table();

/// Null where the list has no such word.
const ModuleLabel* find_label(LabelList list, std::string_view name);

/// Whether it names a part of an expert: what a recomputed or captured expert layer holds inside.
bool is_inside_experts(const ModuleLabel& label);

}  // namespace refrain::config
