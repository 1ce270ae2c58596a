// Rows of Megatron-LM's functional tests (tests/functional_tests): arguments under Megatron's own
// names, peaks of the last rank, seconds a step.
#pragma once

#include "accuracy/rows/sample.h"
#include "accuracy/rows/table.h"
#include "base/finding.h"

namespace refrain::accuracy {

/// Without these a table is not of this kind.
inline constexpr std::string_view kCiColumns[] = {"case",
                                                  "num-layers",
                                                  "hidden-size",
                                                  "num-attention-heads",
                                                  "seq-length",
                                                  "micro-batch-size",
                                                  "peak_allocated_bytes_max"};

/// Reads a row. Findings: those of RowReader, `accuracy.workload` where the run does more than
/// train one decoder, BERT or T5, `accuracy.world-size` where its optimizer is spread over nobody
/// knows how many GPUs, and what of the sizes does not fit together.
Checked<Sample> read_ci_row(const Table& table, size_t index);

/// Case, platform and environment.
std::string name_of_ci_row(const RowReader& row);

}  // namespace refrain::accuracy
