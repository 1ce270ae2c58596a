// The profiles of data/devices, compiled in. data/devices/README.md says what their fields mean.
#pragma once

#include <string_view>

namespace refrain::cost {

extern const std::string_view kRatesText;
extern const std::string_view kA100Text;
extern const std::string_view kH100Text;
extern const std::string_view kH200Text;
extern const std::string_view kB300Text;
extern const std::string_view kB200Text;
extern const std::string_view kGb300Text;
extern const std::string_view kGb200Text;

}  // namespace refrain::cost
