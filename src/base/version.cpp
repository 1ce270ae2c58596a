#include "base/version.h"

namespace refrain {

std::string_view version() { return REFRAIN_VERSION; }

}  // namespace refrain
