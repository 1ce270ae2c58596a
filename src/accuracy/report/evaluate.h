// Predictions for every row of a table of measured runs.
#pragma once

#include <string_view>
#include <vector>

#include "accuracy/report/outcome.h"
#include "base/finding.h"

namespace refrain::accuracy {

/// Reads the text of a table and predicts each row; in the table's order. Findings: those of
/// read_table, and `accuracy.missing-column` where it has neither the columns of Megatron-LM's
/// functional tests nor those of published measurements. A row that cannot be read, or what a
/// prediction does not cover, is an outcome with its reason.
Checked<std::vector<Outcome>> evaluate(std::string_view text);

}  // namespace refrain::accuracy
