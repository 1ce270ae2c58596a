// A plan as the page that `refrain plan --html` writes.
#pragma once

#include "cli/plan/plan_view.h"
#include "report/page/plan_page.h"

namespace refrain::cli {

/// Solves further budgets with the planner that made the view's plan, for the curve.
report::PlanPage plan_page_of(const PlanView& view, const plan::Planner& planner);

/// Every step of the plan's program with what the ledger says it holds.
report::MemoryTimeline timeline_of(const plan::PreparedStep& step);

}  // namespace refrain::cli
