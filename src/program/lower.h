// graph + plan + schedule -> Program.
#pragma once

#include "program/program.h"
#include "program/recompute_plan.h"

namespace refrain::program {

struct Schedule {
  int64_t num_micro_batches = 1;  // one after the other: forward, backward, forward, ...
  bool training = true;           // false: forward and loss only, no gradients, no update
  bool clip = false;              // global-norm clipping: updates wait for the last gradient
};

Program lower(const model::ModelGraph& graph, const RecomputePlan& plan, const Schedule& schedule);

}  // namespace refrain::program
