// Which Refrain this is.
#pragma once

#include <string_view>

namespace refrain {

/// "0.1.0": the version that the root CMakeLists.txt gives the project.
std::string_view version();

}  // namespace refrain
