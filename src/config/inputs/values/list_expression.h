// Python's list expressions over whole numbers, in which layer patterns are written.
#pragma once

#include <string_view>

#include "base/finding.h"
#include "config/inputs/values/reading.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Evaluates "([0]*3+[1]*58)": lists of whole numbers, +, * and parentheses; a whole number alone
/// stays one. Bounded: 4096 characters, 65536 elements, 16 parentheses deep. A finding
/// `family.list-expression` otherwise.
Checked<Value> evaluate_list_expression(std::string_view text, const Reading& reading);

}  // namespace refrain::config
