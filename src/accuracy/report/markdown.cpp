// docs/accuracy.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/report/render.h"

namespace refrain::accuracy {
namespace {

constexpr std::string_view kHead = R"(# Accuracy

What `refrain accuracy` predicts for runs that others measured and published. `make accuracy` writes
this page from the tables in `data/accuracy`, where their columns and sources are explained.

Errors are signed: predicted over measured, less 1, in percent; a negative one is an
under-prediction. *Point* is the expected peak of allocated bytes, *bound* the one that a verdict
compares with the device's memory; *slack* is the bound's error. A step's time is predicted from the
configuration alone, without a measured control.
)";

using Figure = std::optional<double> (Outcome::*)() const;

/// Those with the figure, the farthest from 0 first.
std::vector<const Outcome*> worst_first(const std::vector<Outcome>& outcomes, Figure figure) {
  std::vector<const Outcome*> found;
  for (const Outcome& outcome : outcomes) {
    if ((outcome.*figure)()) found.push_back(&outcome);
  }
  std::stable_sort(found.begin(), found.end(), [figure](const Outcome* a, const Outcome* b) {
    return std::abs(*(a->*figure)()) > std::abs(*(b->*figure)());
  });
  return found;
}

/// A cell must not end itself.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

double gib(Bytes bytes) { return static_cast<double>(bytes.count()) / (int64_t{1} << 30); }

std::string summaries_of(const std::vector<Outcome>& outcomes) {
  std::string text =
      "| rows of | rows | modelled | peaks | median | p90 | worst | under | under bound | slack | "
      "times | median | p90 | signed median |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
      "---: |\n";
  const auto real = [](const ErrorSummary& of, double number) {
    return of.count ? fmt::format("{:.2f} %", number) : std::string();
  };
  for (const Summary& each : summarize(outcomes)) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                        each.name, each.num_rows, each.num_modelled, each.peak.count,
                        real(each.peak, each.peak.abs_median), real(each.peak, each.peak.abs_p90),
                        real(each.peak, each.peak.worst), each.peak.num_under, each.upper.num_under,
                        real(each.upper, each.upper.signed_median), each.time.count,
                        real(each.time, each.time.abs_median), real(each.time, each.time.abs_p90),
                        real(each.time, each.time.signed_median));
  }
  return text + "\nMedian and p90 are of the errors without their signs.\n";
}

std::string peaks_of(const std::vector<Outcome>& outcomes) {
  const auto worst = worst_first(outcomes, &Outcome::error_percent);
  if (worst.empty()) return {};
  std::string text =
      "\n### Peaks, worst first\n\n| row | run | measured GiB | point GiB | error | slack |\n"
      "| ---: | --- | ---: | ---: | ---: | ---: |\n";
  for (const Outcome* each : worst) {
    const auto slack = each->slack_percent();
    text += fmt::format("| {} | {} | {:.3f} | {:.3f} | {:+.2f} % | {} |\n", each->row,
                        escaped(each->name), gib(*each->peak_measured), gib(*each->peak_point),
                        *each->error_percent(), slack ? fmt::format("{:+.2f} %", *slack) : "");
  }
  return text;
}

std::string times_of(const std::vector<Outcome>& outcomes) {
  const auto worst = worst_first(outcomes, &Outcome::time_error_percent);
  if (worst.empty()) return {};
  std::string text =
      "\n### Step times, worst first\n\n| row | run | measured ms | predicted ms | error |\n"
      "| ---: | --- | ---: | ---: | ---: |\n";
  for (const Outcome* each : worst) {
    text +=
        fmt::format("| {} | {} | {:.1f} | {:.1f} | {:+.1f} % |\n", each->row, escaped(each->name),
                    *each->time_measured_ms, *each->time_ms, *each->time_error_percent());
  }
  return text;
}

std::string not_modelled_of(const std::vector<Outcome>& outcomes) {
  std::string rows;
  for (const Outcome& each : outcomes) {
    if (each.modelled) continue;
    rows += fmt::format("| {} | {} | {} |\n", each.row, escaped(each.name), escaped(each.reason));
  }
  if (rows.empty()) return {};
  return "\n### Not modelled\n\n| row | run | because |\n| ---: | --- | --- |\n" + rows;
}

}  // namespace

std::string to_markdown(const std::vector<Evaluated>& files) {
  std::string text(kHead);
  for (const Evaluated& each : files) {
    text += fmt::format("\n## {}\n\n", each.file);
    text += summaries_of(each.outcomes) + peaks_of(each.outcomes) + times_of(each.outcomes) +
            not_modelled_of(each.outcomes);
  }
  return text;
}

}  // namespace refrain::accuracy
