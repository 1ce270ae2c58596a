// The tables of data/recipes, compiled in. data/recipes/README.md says what their columns mean.
#pragma once

#include <string_view>

namespace refrain::config {

extern const std::string_view kBridgeRecipesText;
extern const std::string_view kBridgeRecipesLibraryText;
extern const std::string_view kMlmModelzooRecipesText;
extern const std::string_view kModelArchText;
extern const std::string_view kSupplementsText;

}  // namespace refrain::config
