#include "accuracy/report/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/statistics.h"

namespace refrain::accuracy {
namespace {

using Figure = std::optional<double> (Outcome::*)() const;

std::vector<double> figures(const std::vector<const Outcome*>& outcomes, Figure figure) {
  std::vector<double> found;
  for (const Outcome* outcome : outcomes) {
    if (const auto percent = (outcome->*figure)()) found.push_back(*percent);
  }
  return found;
}

Summary summary_of(std::string name, const std::vector<const Outcome*>& outcomes) {
  Summary summary{.name = std::move(name), .num_rows = std::ssize(outcomes)};
  summary.num_modelled = std::count_if(outcomes.begin(), outcomes.end(),
                                       [](const Outcome* each) { return each->modelled; });
  summary.peak = summarize_errors(figures(outcomes, &Outcome::error_percent));
  summary.upper = summarize_errors(figures(outcomes, &Outcome::slack_percent));
  summary.time = summarize_errors(figures(outcomes, &Outcome::time_error_percent));
  return summary;
}

}  // namespace

ErrorSummary summarize_errors(const std::vector<double>& signed_percent) {
  if (signed_percent.empty()) return {};
  ErrorSummary summary{.count = std::ssize(signed_percent)};
  std::vector<double> sorted = signed_percent;
  std::sort(sorted.begin(), sorted.end());
  summary.signed_median = quantile(sorted, 0.5);
  summary.num_under = std::lower_bound(sorted.begin(), sorted.end(), 0.0) - sorted.begin();
  summary.worst = -sorted.front() > sorted.back() ? sorted.front() : sorted.back();
  for (double& error : sorted) error = std::abs(error);
  std::sort(sorted.begin(), sorted.end());
  summary.abs_median = quantile(sorted, 0.5);
  summary.abs_p90 = quantile(sorted, 0.9);
  return summary;
}

std::vector<Summary> summarize(const std::vector<Outcome>& outcomes) {
  std::vector<const Outcome*> all;
  std::map<std::string, std::vector<const Outcome*>> families;
  for (const Outcome& outcome : outcomes) {
    all.push_back(&outcome);
    if (!outcome.family.empty()) families[outcome.family].push_back(&outcome);
  }
  std::vector<Summary> summaries = {summary_of("all", all)};
  for (const auto& [name, members] : families) summaries.push_back(summary_of(name, members));
  std::stable_sort(summaries.begin() + 1, summaries.end(),
                   [](const Summary& a, const Summary& b) { return a.num_rows > b.num_rows; });
  return summaries;
}

}  // namespace refrain::accuracy
