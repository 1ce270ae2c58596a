// Values as people write them, by Hydra's rules.
#pragma once

#include <string>
#include <string_view>

#include "base/finding.h"
#include "config/inputs/values/reading.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Reads null, true and false in any case, whole and real numbers, 'quoted' or "quoted" text, bare
/// text, lists [x,y] and dicts {k:v}, nested 16 deep at most. Findings: `family.malformed-value`,
/// `.number-range`, `.too-deep`, `.several-values` (a comma outside brackets, which Hydra takes for
/// a sweep); as notes `.duplicate-key`, and `.text-not-meant` for None, which is text to Hydra.
Checked<Value> read_literal(std::string_view text, const Reading& reading);

/// Reads one word without brackets or quotes: null, true, false, a number or text, and nothing of
/// it is malformed but a number beyond 64 bits (`family.number-range`); None is noted as above.
Checked<Value> read_scalar(std::string_view text, const Reading& reading);

/// What read_literal reads back as the same value.
std::string literal_text(const Value& value);

}  // namespace refrain::config
