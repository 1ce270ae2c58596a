#include "base/error.h"

namespace refrain {

void fail_check(const char* expression, const char* file, int line, const std::string& values) {
  throw Bug(fmt::format("{}:{}: does not hold: {}{}{}", file, line, expression,
                        values.empty() ? "" : "; ", values));
}

}  // namespace refrain
