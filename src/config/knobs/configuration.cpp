#include "config/knobs/configuration.h"

#include <fmt/format.h>

#include "config/scan.h"

namespace refrain::config {
namespace {

std::vector<std::string> knob_names(Dialect dialect) {
  std::vector<std::string> names;
  for (const Knob& knob : knob_table()) {
    if (knob.dialects.has(dialect)) names.emplace_back(knob.name);
  }
  return names;
}

std::string place_of(const Assignment& assignment) {
  return assignment.source.place.empty() ? "" : fmt::format(" ({})", assignment.source.place);
}

Finding not_in_dialect(const Assignment& assignment, DialectSet dialects, Dialect dialect) {
  return {"knob.not-in-dialect",
          fmt::format("{} must be a knob of {}: it is one of {}{}", assignment.knob,
                      to_text(dialect), to_text(dialects), place_of(assignment)),
          "drop it, or check against a dialect that has it"};
}

/// Nobody knows the name: one with a dot belongs to another part of the run.
Finding unknown(const Assignment& assignment, Dialect dialect) {
  if (assignment.knob.find('.') != std::string::npos) {
    return {"knob.elsewhere",
            fmt::format("{} is not a knob of the model's configuration; it is not judged",
                        assignment.knob),
            "nothing to do", Severity::kNote};
  }
  const auto near = nearest(assignment.knob, knob_names(dialect));
  return {"knob.unknown",
          fmt::format("a knob must be one that `refrain knobs` lists: {}{}",
                      in_quotes(assignment.knob), place_of(assignment)),
          near ? fmt::format("did you mean {}?", *near) : "see refrain knobs"};
}

std::optional<Finding> take(const Assignment& assignment, const Knob& knob, const Knobs& defaults,
                            Configuration& configuration) {
  if (assignment.removes) {
    set_value(configuration.knobs, knob, value_of(defaults, knob));
    configuration.sources.erase(knob.name);
    return std::nullopt;
  }
  if (set_value(configuration.knobs, knob, assignment.value)) {
    configuration.sources[knob.name] = assignment.source;
    return std::nullopt;
  }
  return Finding{"knob.wrong-type",
                 fmt::format("{} must be {}: {}{}", knob.name, type_name(knob),
                             assignment.value.dump(-1, ' ', false, Value::error_handler_t::replace),
                             place_of(assignment)),
                 knob.legal.empty() ? "true or false" : fmt::format("write {}", knob.legal)};
}

}  // namespace

std::string_view to_text(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kRecipe:
      return "recipe";
    case Origin::kFile:
      return "file";
    case Origin::kFlag:
      return "flag";
    case Origin::kOverride:
      break;
  }
  return "override";
}

std::optional<Finding> apply(const Assignment& assignment, Dialect dialect, const Knobs& defaults,
                             Configuration& configuration) {
  if (const Knob* knob = find_knob(assignment.knob)) {
    return knob->dialects.has(dialect) ? take(assignment, *knob, defaults, configuration)
                                       : not_in_dialect(assignment, knob->dialects, dialect);
  }
  const DialectSet elsewhere = bystander_dialects(assignment.knob);
  if (elsewhere.has(dialect)) return std::nullopt;
  return elsewhere == DialectSet() ? unknown(assignment, dialect)
                                   : not_in_dialect(assignment, elsewhere, dialect);
}

Checked<Configuration> configure(const Assignments& assignments, Dialect dialect) {
  Findings findings;
  Configuration configuration{defaults_of(dialect), {}};
  const Knobs defaults = configuration.knobs;
  for (const Assignment& assignment : assignments) {
    if (auto finding = apply(assignment, dialect, defaults, configuration)) {
      findings.push_back(*std::move(finding));
    }
  }
  if (rejects(findings)) return Checked<Configuration>::reject(std::move(findings));
  return Checked<Configuration>::accept(std::move(configuration), std::move(findings));
}

}  // namespace refrain::config
