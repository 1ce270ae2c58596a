#include "cost/program/machine_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text_file.h"
#include "config/json_fields.h"
#include "config/scan.h"

namespace refrain::cost {
namespace {

using config::in_quotes;
using config::shown;
using nlohmann::json;

/// One row a rate: its name in the file and where it stands.
struct Row {
  const char* name;
  double MachineRates::*rate;
};
constexpr Row kRates[] = {
    {"gemm_flops", &MachineRates::gemm_flops},
    {"attention_forward_flops", &MachineRates::attention_forward_flops},
    {"attention_backward_flops", &MachineRates::attention_backward_flops},
    {"memory_bytes", &MachineRates::memory_bytes},
    {"activation_bytes", &MachineRates::activation_bytes},
    {"update_bytes", &MachineRates::update_bytes},
    {"step_s", &MachineRates::step_s},
};
constexpr double kMostRate = 1e21;       // beyond any machine; keeps quotients finite
constexpr size_t kMostBytes = 64 << 10;  // a file of rates has less than one kilobyte

Finding finding(const std::string& rule, std::string message) {
  return {"rates." + rule, std::move(message), "write the file with refrain calibrate --save FILE"};
}

void read_rate(const json& object, const Row& row, MachineRates& rates, Findings& findings) {
  if (!object.contains(row.name)) {
    findings.push_back(finding("missing", fmt::format("{} must be there", row.name)));
    return;
  }
  const json& value = object[row.name];
  if (!value.is_number()) {
    findings.push_back(
        finding("not-a-number", fmt::format("{} must be a number: {}", row.name, shown(value))));
    return;
  }
  rates.*row.rate = value.get<double>();
  const bool may_be_zero = row.rate == &MachineRates::step_s;
  const double rate = rates.*row.rate;
  const bool holds = (may_be_zero ? rate >= 0 : rate > 0) && rate <= kMostRate;
  if (!holds) {
    findings.push_back(
        finding("out-of-range", fmt::format("{} must be {} 0 and at most {:g}: {:g}", row.name,
                                            may_be_zero ? "at least" : "above", kMostRate, rate)));
  }
}

void read_text(const json& object, const char* name, std::string& text, Findings& findings) {
  if (!object.contains(name)) return;
  if (object[name].is_string()) {
    text = object[name].get<std::string>();
  } else {
    findings.push_back(
        finding("not-a-text", fmt::format("{} must be a text: {}", name, shown(object[name]))));
  }
}

void check_names(const json& object, Findings& findings) {
  std::vector<std::string> known = {"name", "source"};
  for (const Row& row : kRates) known.emplace_back(row.name);
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = nearest(name.substr(0, 100), known);
    findings.push_back(
        finding("unknown", fmt::format("{} is no rate{}", in_quotes(name),
                                       near ? "; did you mean " + *near + "?" : "")));
  }
}

}  // namespace

MachineRates default_rates() {
  return {.name = "cpu",
          .source =
              "refrain calibrate: llama-60m, 4 sequences of 512, 2 threads, f32; two cores of "
              "an Intel Xeon with AVX-512",
          .gemm_flops = 2.2e11,
          .attention_forward_flops = 1.36e11,
          .attention_backward_flops = 1.36e11,
          .memory_bytes = 2.8e10,
          .activation_bytes = 2.5e10,
          .update_bytes = 1.7e10,
          .step_s = 5.6e-6};
}

Checked<MachineRates> parse_rates(const std::string& json_text) {
  if (json_text.size() > kMostBytes) {
    return Checked<MachineRates>::reject(
        {finding("unreadable", fmt::format("rates must be at most {} bytes", kMostBytes))});
  }
  const json object = json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return Checked<MachineRates>::reject({finding("unreadable", "a JSON object must be there")});
  }
  MachineRates rates;
  Findings findings;
  read_text(object, "name", rates.name, findings);
  read_text(object, "source", rates.source, findings);
  for (const Row& row : kRates) read_rate(object, row, rates, findings);
  check_names(object, findings);
  if (rejects(findings)) return Checked<MachineRates>::reject(std::move(findings));
  return Checked<MachineRates>::accept(std::move(rates));
}

std::string to_json(const MachineRates& rates) {
  nlohmann::ordered_json object = {{"name", rates.name}, {"source", rates.source}};
  for (const Row& row : kRates) object[row.name] = rates.*row.rate;
  return object.dump(2) + "\n";
}

Checked<MachineRates> read_rates(const std::string& path) {
  const FileText file = read_file(path, kMostBytes);
  if (!file.trouble) return parse_rates(file.text);
  const bool is_there = file.trouble == FileTrouble::kTooLarge;
  return Checked<MachineRates>::reject({finding(
      is_there ? "unreadable" : "no-file",
      fmt::format("rates must be a file that can be read: {} {}", in_quotes(path), file.reason))});
}

}  // namespace refrain::cost
