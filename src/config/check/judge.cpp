#include "config/check/judge.h"

#include <algorithm>

#include "config/knobs/knob_table.h"
#include "config/rules/table/rule_table.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

TeVersion te_version_of(const Knobs& knobs) {
  if (!knobs.te_version) return {0, 0, 0};
  TeVersion version = {999, 0, 0};  // "recent"
  const std::vector<std::string> parts = split(*knobs.te_version, '.');
  if (!parse_whole(parts[0])) return version;
  for (size_t i = 0; i < version.size(); ++i) {
    version[i] = i < parts.size() ? parse_whole(parts[i]).value_or(0) : 0;
  }
  return version;
}

/// The rules of one dialect, in order.
const std::vector<const Rule*>& rules_of(Dialect dialect) {
  static const std::vector<std::vector<const Rule*>> by_dialect = [] {
    std::vector<std::vector<const Rule*>> made;
    for (const Dialect each : all_dialects()) {
      auto& rules = made.emplace_back(all_rules());
      std::erase_if(rules, [&](const Rule* rule) { return !rule->dialects.has(each); });
    }
    return made;
  }();
  return by_dialect[static_cast<size_t>(dialect)];
}

/// The knobs with a remedy's values; nothing where the dialect does not have one of them.
std::optional<Knobs> with(Knobs knobs, const Assignments& set, Dialect dialect) {
  for (const Assignment& assignment : set) {
    const Knob* knob = find_knob(assignment.knob);
    if (knob == nullptr || !knob->dialects.has(dialect) ||
        !set_value(knobs, *knob, assignment.value)) {
      return std::nullopt;
    }
  }
  return knobs;
}

/// What a default is no way out of: a model without layers.
bool is_size_of_model(const Knob& knob) {
  return knob.name == "num_layers" || knob.name == "hidden_size" ||
         knob.name == "num_attention_heads";
}

/// Each knob that a rule reads at its default.
std::vector<Remedy> defaults_for(const Rule& rule, const Knobs& knobs, const Context& context) {
  std::vector<Remedy> remedies;
  const Knobs defaults = defaults_of(context.dialect);
  for (const std::string& name : split(rule.knobs, ' ')) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr || !knob->dialects.has(context.dialect) || is_size_of_model(*knob)) {
      continue;
    }
    const Value value = value_of(defaults, *knob);
    if (value == value_of(knobs, *knob)) continue;
    remedies.push_back({fmt::format("{}={}", name, value.dump()), {{name, value, {}, false}}});
  }
  return remedies;
}

/// Ways out that a rule offers: its own before defaults.
std::vector<Remedy> offered(const Rule& rule, const Knobs& knobs, const Context& context) {
  std::vector<Remedy> remedies;
  if (rule.remedies) remedies = rule.remedies(knobs, context);
  for (Remedy& one : defaults_for(rule, knobs, context)) remedies.push_back(std::move(one));
  return remedies;
}

const Rule* first_error(const Judgement& judgement) {
  for (const Ruling& ruling : judgement.rulings) {
    if (is_error(ruling.rule->outcome)) return ruling.rule;
  }
  return nullptr;
}

/// Mends the remaining errors in their turn until the configuration is accepted; nothing where no
/// way out is found within `depth` further errors.
std::optional<Knobs> completed(const Knobs& knobs, Dialect dialect, int depth) {
  const Judgement judgement = judge(knobs, dialect);
  if (judgement.accepted) return knobs;
  if (depth == 0) return std::nullopt;
  for (const Remedy& remedy : offered(*first_error(judgement), knobs, context_of(knobs, dialect))) {
    const auto mended = with(knobs, remedy.set, dialect);
    if (!mended || *mended == knobs) continue;
    if (auto done = completed(*mended, dialect, depth - 1)) return done;
  }
  return std::nullopt;
}

bool speaks(const Judgement& judgement, const Rule& rule) {
  return std::any_of(judgement.rulings.begin(), judgement.rulings.end(),
                     [&](const Ruling& ruling) { return ruling.rule == &rule; });
}

/// The knobs in which `mended` differs from `given`.
Assignments difference(const Knobs& given, const Knobs& mended) {
  Assignments set;
  for (const Knob& knob : knob_table()) {
    Value value = value_of(mended, knob);
    if (value != value_of(given, knob)) set.push_back({std::string(knob.name), value, {}, false});
  }
  return set;
}

/// Tries ways out, each completed; adds those that lead somewhere new.
void try_out(const std::vector<Remedy>& remedies, const Rule& rule, const Knobs& knobs,
             Dialect dialect, std::vector<CheckedRemedy>& checked) {
  constexpr int kMostErrors = 4;  // beside the one that is mended
  constexpr size_t kMostTold = 5;
  for (const Remedy& remedy : remedies) {
    const auto mended = with(knobs, remedy.set, dialect);
    if (checked.size() == kMostTold || !mended || speaks(judge(*mended, dialect), rule)) continue;
    const auto done = completed(*mended, dialect, kMostErrors);
    if (!done) continue;
    Assignments set = difference(knobs, *done);
    const bool told = std::any_of(checked.begin(), checked.end(),
                                  [&](const CheckedRemedy& other) { return other.set == set; });
    if (!told && !set.empty()) checked.push_back({remedy.text, std::move(set)});
  }
}

}  // namespace

Context context_of(const Knobs& knobs, Dialect dialect) { return {dialect, te_version_of(knobs)}; }

Judgement judge(const Knobs& knobs, Dialect dialect) {
  Judgement judgement;
  judgement.effective = knobs;
  const Context context = context_of(knobs, dialect);
  for (const Rule* rule : rules_of(dialect)) {
    Complaint complaint = rule->broken(judgement.effective, context);
    if (!complaint) continue;
    if (rule->rewrite) rule->rewrite(judgement.effective, context);
    if (is_error(rule->outcome) && judgement.accepted) {
      judgement.accepted = false;
      judgement.raised = rule->outcome;
    }
    judgement.rulings.push_back({rule, *std::move(complaint)});
  }
  return judgement;
}

std::vector<CheckedRemedy> remedies_of(const Rule& rule, const Knobs& knobs, Dialect dialect) {
  std::vector<CheckedRemedy> checked;
  const Context context = context_of(knobs, dialect);
  if (rule.remedies) try_out(rule.remedies(knobs, context), rule, knobs, dialect, checked);
  if (checked.empty()) {
    try_out(defaults_for(rule, knobs, context), rule, knobs, dialect, checked);
  }
  return checked;
}

}  // namespace refrain::config
