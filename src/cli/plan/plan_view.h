// How a plan is shown: for people, as JSON, and with its reasons.
#pragma once

#include <string>
#include <vector>

#include "plan/planner.h"
#include "plan/standard.h"

namespace refrain::cli {

struct PlanView {
  const plan::Workload& workload;
  const plan::EnginePlan& plan;
  Bytes budget;
  Bytes least_peak;
  const std::vector<plan::StandardStep>& standards;
  bool leanest = false;     // no budget was given
  double byte_price_s = 0;  // of a step: Planner::byte_price_s
};

std::string to_text(const PlanView& view);
std::string to_json(const PlanView& view);

/// What each activation frees and costs, and what decided.
std::string reasons_text(const PlanView& view);

/// How layers are treated, and what each of their activations frees and costs.
std::string decisions_table(const std::vector<plan::LayerDecision>& decisions);
std::string activations_text(const std::vector<plan::LayerDecision>& decisions);

/// The settings people publish, out of all that were evaluated.
bool is_common(const config::RecomputeSetting& setting, int64_t num_layers);

}  // namespace refrain::cli
