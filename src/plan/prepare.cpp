#include "plan/prepare.h"

#include "base/error.h"
#include "model/dense.h"
#include "plan/presets.h"
#include "program/verify.h"

namespace refrain::plan {
namespace {

PreparedStep prepare(model::ModelGraph graph, const config::RunShape& shape,
                     const program::RecomputePlan& plan) {
  PreparedStep step{.graph = std::move(graph)};
  step.program = program::lower(step.graph, plan, schedule_of(shape));
  const std::vector<std::string> complaints =
      program::verify(step.graph, step.program, plan.policy);
  RC_CHECK(complaints.empty(), "{} complaints, the first: {}", complaints.size(),
           complaints.front());
  step.timeline = ledger::simulate(step.program);
  return step;
}

}  // namespace

program::Schedule schedule_of(const config::RunShape& shape) {
  return {.num_micro_batches = shape.num_micro_batches, .clip = shape.clip_grad > 0};
}

PreparedStep prepare(const config::ModelConfig& config, const config::RunShape& shape,
                     const config::RecomputeSetting& setting, config::ReplayPolicy policy) {
  model::ModelGraph graph = model::build_dense(config, shape);
  const program::RecomputePlan plan = make_plan(graph, setting, policy);
  return prepare(std::move(graph), shape, plan);
}

PreparedStep prepare(const config::ModelConfig& config, const config::RunShape& shape,
                     const program::RecomputePlan& plan) {
  return prepare(model::build_dense(config, shape), shape, plan);
}

}  // namespace refrain::plan
