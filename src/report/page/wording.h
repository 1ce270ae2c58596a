// How numbers read on the page, with the exact ones behind them for machines.
#pragma once

#include <string>

#include "report/page/markup/html.h"
#include "report/page/plan_page.h"

namespace refrain::report {

/// "12.3 ms", "4.56 s", "3.2 min", "5.1 h".
std::string time_text(double seconds);

/// "+13.8 %": recompute against the rest of the step.
std::string overhead_text(const StepCost& cost);
double overhead_of(const StepCost& cost);

/// "proven least", or how far from it the plan may be.
std::string gap_text(double gap);

/// "saved activations".
std::string account_text(std::string_view account);

/// "layers 0 to 6", "layer 7".
std::string layers_text(const LayerGroup& group);

/// <data value="1024">1.00 KiB</data>.
Html bytes_data(Bytes bytes);
Html time_data(double seconds);
Html overhead_data(const StepCost& cost);

/// "262,114,304".
std::string grouped(int64_t number);

/// Flush right: <td class="number">.
Html number_cell(const Html& content);
Html heading_cell(std::string_view text, bool number = false);

/// What is hidden until asked for.
Html fold(std::string_view summary, const Html& content, const std::string& class_name = "fold");

/// A table in a box that scrolls sideways where the page is narrow.
Html table(std::string_view caption, const Html& head, const Html& body,
           const std::string& class_name = "");

/// "left:12.5%".
std::string css_percent(std::string_view property, double share);

}  // namespace refrain::report
