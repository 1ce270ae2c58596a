// Where Values begin and end: turns a draft, whose steps only read and write, into a Program.
#pragma once

#include <vector>

#include "model/graph.h"
#include "program/program.h"

namespace refrain::program {

/// Steps without births, ends and takeovers.
struct Draft {
  Program program;

  /// A Value that outlives its readers: it stays until the backward of `op` in its micro-batch.
  struct Held {
    ValueId value;
    OpRef op;
    int32_t micro_batch;
  };
  std::vector<Held> held_until_backward_of;
};

/// Fills born, takeovers and freed of every step, and tells saved from transient activations.
Program place_lifetimes(const model::ModelGraph& graph, Draft draft);

}  // namespace refrain::program
