#include "config/recipes/supplement.h"

#include <algorithm>
#include <unordered_map>

#include "config/recipes/csv.h"
#include "config/recipes/tables.h"

namespace refrain::config {
namespace {

// Not a knob of Megatron's: names a row of model_arch.csv.
constexpr std::string_view kArchitecture = "architecture";

using BySubject = std::unordered_map<std::string, std::vector<const Supplement*>>;

const std::vector<const Supplement*>& supplements_of_one(const std::string& subject) {
  static const BySubject by_subject = [] {
    BySubject made;
    for (const Supplement& each : supplements()) made[each.subject].push_back(&each);
    return made;
  }();
  static const std::vector<const Supplement*> none;
  const auto found = by_subject.find(subject);
  return found == by_subject.end() ? none : found->second;
}

}  // namespace

const std::vector<Supplement>& supplements() {
  static const std::vector<Supplement> all = [] {
    const CsvTable table(kSupplementsText);
    std::vector<Supplement> made;
    for (const CsvRecord& row : table.records()) {
      made.push_back({row["subject"], row["knob"], scalar_of(row["value"])});
    }
    return made;
  }();
  return all;
}

std::vector<const Supplement*> supplements_of(const std::vector<std::string>& subjects) {
  std::vector<const Supplement*> found;
  for (const std::string& subject : subjects) {
    for (const Supplement* each : supplements_of_one(subject)) {
      if (each->knob != kArchitecture) found.push_back(each);
    }
  }
  std::sort(found.begin(), found.end());  // all point into one vector: the file's order
  return found;
}

std::string architecture_inside(const std::string& model) {
  for (const Supplement* each : supplements_of_one("model:" + model)) {
    if (each->knob == kArchitecture) return each->value;
  }
  return {};
}

}  // namespace refrain::config
