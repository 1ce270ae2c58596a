// Reads pipeline_model_parallel_layout, the text that says which layers stand on which stage.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::config {

/// The stages of `Et*3|(tt|)*14tmL`, each as its letters: E embedding, t decoder layer, m
/// prediction layer, L loss; | between stages, ( ) around what * repeats, commas mean nothing.
/// Nothing where the text is malformed or would be absurdly long. Source: Megatron-Core's
/// PipelineParallelLayerLayout.
std::optional<std::vector<std::string>> layout_stages(std::string_view text);

}  // namespace refrain::config
