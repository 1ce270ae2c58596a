// Values as people write them: Hydra's literals, and Python's list expressions for layer patterns.
#pragma once

#include <string>
#include <string_view>

#include "base/finding.h"
#include "config/inputs/reading.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Reads null, true and false in any case, None, whole and real numbers, 'quoted' or "quoted" text,
/// bare text, lists [x,y] and dicts {k:v}, nested 16 deep at most. Findings: `family.malformed-
/// value`, `.number-range`, `.too-deep`, `.several-values` (a comma outside brackets, which Hydra
/// takes for a sweep); a key that is twice in a dict is a note `.duplicate-key`.
Checked<Value> read_literal(std::string_view text, const Reading& reading);

/// Reads one word without brackets or quotes: null, true, false, a number or text, and nothing of
/// it is malformed but a number beyond 64 bits (`family.number-range`).
Checked<Value> read_scalar(std::string_view text, const Reading& reading);

/// What read_literal reads back as the same value.
std::string literal_text(const Value& value);

/// Evaluates "([0]*3+[1]*58)": lists of whole numbers, +, * and parentheses; a whole number alone
/// stays one. Bounded: 4096 characters, 65536 elements, 16 parentheses deep. A finding
/// `family.list-expression` otherwise.
Checked<Value> evaluate_list_expression(std::string_view text, const Reading& reading);

enum class NumberShape { kText, kWhole, kReal };
/// Whether `text` is written like a number: "-3", "1_000", ".5", "1e-3", but not "007", "nan".
NumberShape number_shape(std::string_view text);

}  // namespace refrain::config
