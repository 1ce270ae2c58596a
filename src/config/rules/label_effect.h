// Whether a label does anything in a layer: what users misread most.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/labels/label_table.h"
#include "config/rules/layers.h"
#include "config/rules/rule.h"

namespace refrain::config {

/// Why the label does nothing in a layer of that kind; nothing where it is active, or where knobs
/// do not tell. Source: Megatron-Core's layer specs and module constructors, and the documentation
/// of fine-grained activation offload.
std::optional<std::string> inactive_because(LabelList list, std::string_view label, const Knobs& k,
                                            LayerKind kind, const Context& s);

/// Every reason that inactive_because can give for the label.
std::vector<std::string_view> inactive_reasons(LabelList list, std::string_view label);

/// The words that do nothing in any layer, each with why: "mlp (the layer has experts ...)". Empty
/// where the model is not told.
std::vector<std::string> idle_labels(LabelList list, const WordList& words, const Knobs& k,
                                     const Context& s);

}  // namespace refrain::config
