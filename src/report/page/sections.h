// The parts of the page, from its top to its foot.
#pragma once

#include "report/page/markup/html.h"
#include "report/page/plan_page.h"

namespace refrain::report {

Html overview(const PlanPage& page);
Html timeline_section(const PlanPage& page);
Html curve_section(const PlanPage& page);
Html settings_section(const PlanPage& page);
Html layers_section(const PlanPage& page);

}  // namespace refrain::report
