// What of a timeline is drawn, and handed to the script.
#pragma once

#include <vector>

#include "report/page/markup/html.h"
#include "report/page/plan_page.h"

namespace refrain::report {

/// Steps that are drawn and can be pointed at, ascending: all of a short timeline; the peak always.
std::vector<size_t> drawn_steps(const MemoryTimeline& timeline);

/// Indices of the accounts that hold anything at any step.
std::vector<size_t> held_accounts(const MemoryTimeline& timeline);

Bytes total(const MemoryStep& step);

/// <script type="application/json" id="timeline-data">.
Html timeline_data(const MemoryTimeline& timeline);

}  // namespace refrain::report
