#include "plan/prepare.h"

#include "base/error.h"
#include "model/dense.h"
#include "plan/presets.h"
#include "program/lower.h"
#include "program/verify.h"

namespace refrain::plan {

PreparedStep prepare(const config::ModelConfig& config, const config::RunShape& shape,
                     const config::RecomputeSetting& setting, config::ReplayPolicy policy) {
  PreparedStep step{.graph = model::build_dense(config, shape)};
  step.program =
      program::lower(step.graph, make_plan(step.graph, setting, policy),
                     {.num_micro_batches = shape.num_micro_batches, .clip = shape.clip_grad > 0});
  const std::vector<std::string> complaints = program::verify(step.graph, step.program, policy);
  RC_CHECK(complaints.empty(), "{} complaints about {}, the first: {}", complaints.size(),
           to_text(setting), complaints.front());
  step.timeline = ledger::simulate(step.program);
  return step;
}

}  // namespace refrain::plan
