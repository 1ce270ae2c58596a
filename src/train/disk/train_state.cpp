#include "train/disk/train_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"

namespace refrain::train {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr std::string_view kWhere = "in the checkpoint";
constexpr int kStateDepth = 3;  // {files: {name: {}}}

std::string describe(const NamedTensor& tensor) {
  return fmt::format("{} {} [{}]", tensor.name, to_text(tensor.type),
                     fmt::join(tensor.shape, ", "));
}

/// The text whose checksum stands in it: the document without the checksum.
std::string render(const json& document) { return document.dump(2) + "\n"; }
std::string seal(const json& document) {
  json bare = document;
  bare.erase("checksum");
  return to_hex(checksum_of(render(bare)));
}

FileSum read_sum(const json& value) {
  const auto hex = value.at("xxh3").get<std::string>();
  FileSum sum{.bytes = value.at("bytes").get<int64_t>(), .xxh3 = 0};
  std::from_chars(hex.data(), hex.data() + hex.size(), sum.xxh3, 16);
  return sum;
}

StoredState read_fields(const json& document) {
  StoredState stored;
  document.at("step").get_to(stored.state.step);
  document.at("seed").get_to(stored.state.seed);
  document.at("model").get_to(stored.state.model);
  document.at("settings").get_to(stored.state.settings);
  for (const auto& [name, sum] : document.at("files").items()) {
    stored.files[name] = read_sum(sum);
  }
  return stored;
}

}  // namespace

Findings check_resume(const TrainState& saved, const TrainState& asked) {
  Findings findings;
  const std::string model = config::differences(config::without_name(saved.model),
                                                config::without_name(asked.model), kWhere);
  if (!model.empty()) {
    findings.push_back({"checkpoint.other-model",
                        "a run goes on with the model of its checkpoint; " + model,
                        "name the checkpoint's model, or start anew without --resume"});
  }
  if (saved.seed != asked.seed) {
    findings.push_back({"checkpoint.other-seed",
                        fmt::format("a run goes on with the seed of its checkpoint, which decides "
                                    "what text is held out: {} in the checkpoint, {} asked for",
                                    saved.seed, asked.seed),
                        fmt::format("--seed {}", saved.seed)});
  }
  const std::string settings = config::differences(saved.settings, asked.settings, kWhere);
  if (!settings.empty()) {
    findings.push_back({"checkpoint.other-settings",
                        "the run goes on with other settings than it began with; " + settings,
                        "give the checkpoint's values where the run should be the same as one "
                        "that never stopped",
                        Severity::kNote});
  }
  return findings;
}

Findings check_tensors(std::string_view what, const SafetensorsFile& file,
                       std::span<const NamedTensor> needed) {
  std::vector<std::string> lines;
  size_t num_found = 0;
  for (const NamedTensor& tensor : needed) {
    const NamedTensor* stored = file.find(tensor.name);
    num_found += stored != nullptr;
    if (!stored) {
      lines.push_back(fmt::format("{} is missing", describe(tensor)));
    } else if (stored->type != tensor.type || stored->shape != tensor.shape) {
      lines.push_back(fmt::format("{} is needed, {} stored", describe(tensor), describe(*stored)));
    }
  }
  if (num_found < file.tensors().size()) {
    lines.push_back(fmt::format("{} tensors are not needed", file.tensors().size() - num_found));
  }
  if (lines.empty()) return {};
  constexpr size_t kShown = 5;
  const size_t hidden = lines.size() - std::min(lines.size(), kShown);
  lines.resize(lines.size() - hidden);
  if (hidden > 0) lines.push_back(fmt::format("and {} more", hidden));
  return {
      {"checkpoint.other-tensors",
       fmt::format("{} must hold just the tensors of the run: {}", what, fmt::join(lines, "; ")),
       "give the --model and --dtype that the checkpoint was written with"}};
}

std::string write_state(const TrainState& state, const std::map<std::string, FileSum>& files) {
  json document = {{"format", kFormat},    {"step", state.step},         {"seed", state.seed},
                   {"model", state.model}, {"settings", state.settings}, {"files", json::object()}};
  for (const auto& [name, sum] : files) {
    document["files"][name] = {{"bytes", sum.bytes}, {"xxh3", to_hex(sum.xxh3)}};
  }
  document["checksum"] = seal(document);
  return render(document);
}

std::variant<StoredState, Complaint> read_state(std::string_view text, const std::string& path) {
  auto parsed = parse_strict_json(text, kStateDepth);
  if (const auto* complaint = std::get_if<Complaint>(&parsed)) return *complaint;
  const json& document = std::get<json>(parsed);
  if (!document.is_object() || render(document) != text || !document.contains("checksum") ||
      document["checksum"] != seal(document)) {
    return Complaint{"is not as it was written: its checksum does not fit"};
  }
  if (const json format = document.contains("format") ? document["format"] : json();
      format != kFormat) {
    throw Error("{} must be of format {}, the only one this version reads: {}", path, kFormat,
                format.dump());
  }
  try {
    return read_fields(document);
  } catch (const json::exception& error) {
    return Complaint{fmt::format("lacks a field: {}", error.what())};
  }
}

}  // namespace refrain::train
