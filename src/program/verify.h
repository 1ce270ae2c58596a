// Checks a Program without trusting the lowering: it walks the steps and keeps its own books.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace refrain::program {

/// Complaints, empty for a sound Program: every read is live and holds a value, every Value is born
/// and ends exactly once, nothing but residents is left, every write goes to a live Value, no op
/// runs after its parameter's update, nothing reads a gradient that somebody added to meanwhile.
/// Under `demand` also: no op is replayed twice in a micro-batch, and every replay writes something
/// that is read.
std::vector<std::string> verify(const model::ModelGraph& graph, const Program& program,
                                ReplayPolicy policy);

}  // namespace refrain::program
