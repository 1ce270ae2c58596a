// The parts of a training step: passes for the axis of a timeline, finer stretches for its table.
#pragma once

#include <vector>

#include "plan/prepare.h"
#include "report/page/plan_page.h"

namespace refrain::cli {

/// "forward", "loss", "backward", "update": maximal runs of steps, each with its micro-batch where
/// there are several. Updates inside backward belong to it.
std::vector<report::StepRange> passes_of(const plan::PreparedStep& step);

/// Passes cut into layers. Where that makes more than `most`: into groups of 2, 4, 8, ... layers;
/// where even whole passes are more, all micro-batches between the first and the last, which hold
/// the same, are one.
std::vector<report::StepRange> stretches_of(const plan::PreparedStep& step, size_t most = 200);

}  // namespace refrain::cli
