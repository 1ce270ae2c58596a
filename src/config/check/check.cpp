#include "config/check/check.h"

#include <utility>

#include "config/check/raised.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

CheckFinding plain(const Finding& finding, std::string_view raised) {
  CheckFinding shown;
  shown.id = finding.rule;
  shown.severity = finding.severity == Severity::kError ? "error" : "note";
  shown.message = finding.message;
  shown.remedy = finding.remedy;
  if (finding.severity == Severity::kError) shown.error_type = raised;
  return shown;
}

std::vector<ShownKnob> knobs_of(const Rule& rule, const Configuration& given, Dialect dialect) {
  std::vector<ShownKnob> shown;
  for (const std::string& name : split(rule.knobs, ' ')) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr || !knob->dialects.has(dialect)) continue;
    const auto source = given.sources.find(knob->name);
    shown.push_back({knob->name, value_of(given.knobs, *knob),
                     source == given.sources.end() ? Source{} : source->second});
  }
  return shown;
}

CheckFinding told(const Ruling& ruling, const Configuration& given, Dialect dialect) {
  const Rule& rule = *ruling.rule;
  CheckFinding finding;
  finding.id = rule.id;
  finding.severity = is_error(rule.outcome) ? "error" : to_text(rule.outcome);
  finding.message = ruling.message;
  finding.because = rule.because;
  finding.remedy = rule.remedy;
  finding.knobs = knobs_of(rule, given, dialect);
  if (is_error(rule.outcome)) {
    finding.error_type = to_text(rule.outcome);
    finding.remedies = remedies_of(rule, given.knobs, dialect);
  }
  return finding;
}

/// As configure does, with what each finding would raise.
std::optional<Configuration> configured(const Assignments& assignments, Dialect dialect,
                                        std::vector<CheckFinding>& findings) {
  Configuration given{defaults_of(dialect), {}};
  const Knobs defaults = given.knobs;
  bool accepted = true;
  for (const Assignment& assignment : assignments) {
    const auto finding = apply(assignment, dialect, defaults, given);
    if (!finding) continue;
    accepted &= finding->severity != Severity::kError;
    findings.push_back(
        plain(*finding, raised_by_knob(finding->rule, assignment.source.origin, dialect)));
  }
  return accepted ? std::optional(std::move(given)) : std::nullopt;
}

}  // namespace

CheckReport check(const Assignments& assignments, const Findings& findings, Dialect dialect) {
  CheckReport report;
  report.dialect = dialect;
  for (const Finding& finding : findings) {
    report.findings.push_back(plain(finding, raised_by_reading(finding.rule)));
  }
  report.given = configured(assignments, dialect, report.findings);
  if (!report.given) return report;
  const Judgement judgement = judge(report.given->knobs, dialect);
  for (const Ruling& ruling : judgement.rulings) {
    if (ruling.rule->outcome != Outcome::kFill) {
      report.findings.push_back(told(ruling, *report.given, dialect));
    }
  }
  report.accepted = judgement.accepted && !rejects(findings);
  report.effective = judgement.effective;
  if (!report.accepted) return report;
  Resolved resolved = resolve(report.effective, context_of(report.effective, dialect));
  if (!resolved.chunks.empty()) report.resolved = std::move(resolved);
  return report;
}

}  // namespace refrain::config
