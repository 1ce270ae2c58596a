// The files of assets/, compiled in.
#pragma once

#include <string_view>

namespace refrain::report {

extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace refrain::report
