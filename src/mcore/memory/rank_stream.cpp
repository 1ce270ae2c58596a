#include "mcore/memory/rank_stream.h"

#include <fmt/format.h>

#include "base/error.h"
#include "mcore/memory/schedule.h"
#include "mcore/memory/stage.h"
#include "mcore/memory/tape/storage.h"

namespace refrain::mcore::memory {

allocator::Stream rank_stream(const Run& run, int64_t rank, int num_steps,
                              const Assumptions& assumptions) {
  RC_CHECK(rank >= 0 && rank < run.parallel.pipeline, "rank {} of {}", rank, run.parallel.pipeline);
  Memory memory;
  memory.mark("construction");
  Stage stage(run, rank, memory, assumptions.expert_load);
  for (int step = 1; step <= num_steps; ++step) {
    memory.begin(fmt::format("step {}", step));
    stage.begin_step();
    run_schedule(run, rank, stage);
    stage.end_step();
  }
  return memory.take();
}

}  // namespace refrain::mcore::memory
