// Rows of published measurements: a model by name, a parallel layout as text, figures as their
// source prints them.
#pragma once

#include "accuracy/rows/sample.h"
#include "accuracy/rows/table.h"
#include "base/finding.h"

namespace refrain::accuracy {

/// Without these a table is not of this kind.
inline constexpr std::string_view kMeasuredColumns[] = {
    "model", "hardware", "num_gpus", "parallelism", "seq_len", "mbs", "gbs"};

/// Reads a row. What it leaves out comes from the published recipe it names or matches, else from
/// what such runs do; notes say so. Findings: those of RowReader, find_architecture and model_of,
/// and what of the sizes does not fit together.
Checked<Sample> read_measured_row(const Table& table, size_t index);

/// What tells the row from others, as it is written.
std::string name_of_measured_row(const RowReader& row);

}  // namespace refrain::accuracy
