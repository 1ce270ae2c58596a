#include "cost/price/run_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cost/ops/labels.h"
#include "cost/price/pricer.h"

namespace refrain::cost {
namespace {

/// What the run has that the model does not know; empty where it does not.
using Told = std::string (*)(const mcore::Run&, const DeviceProfile&);

struct NoteRow {
  std::string_view id;
  Told told;
  std::string_view remedy;
};

constexpr std::string_view kMeasure = "measure a step and anchor the prediction to it";

bool has_mixer(const mcore::Run& run, mcore::Mixer mixer) {
  return std::any_of(run.model.layers.begin(), run.model.layers.end(),
                     [&](const mcore::LayerKind& kind) { return kind.mixer == mixer; });
}

std::string unknown_labels(const mcore::Run& run, const DeviceProfile&) {
  std::string names;
  if (run.recompute.method != mcore::Recompute::Method::kSelective) return names;
  for (const std::string& label : run.recompute.labels) {
    if (!label_named(label)) names += (names.empty() ? "" : ", ") + label;
  }
  return names.empty() ? names : "recompute of " + names + " has no price here: it counts as free";
}

std::string number_format(const mcore::Run& run, const DeviceProfile& device) {
  using Low = mcore::LowPrecision;
  const GemmFormat format = gemm_format(run.numerics.gemms, device);
  if (!format.as_asked) {
    return fmt::format("{} has no rate for the run's number format: its products are priced by {}",
                       device.name, format.name);
  }
  if (run.numerics.gemms == Low::kFp8Delayed || run.numerics.gemms == Low::kFp8Blockwise) {
    return "fp8 with delayed or blockwise scaling is priced as current scaling";
  }
  return {};
}

std::string float32(const mcore::Run& run, const DeviceProfile&) {
  if (run.numerics.params != mcore::Precision::kF32) return {};
  return "float32 runs are priced as bf16 ones, which are faster";
}

std::string family(const mcore::Run& run, const DeviceProfile&) {
  if (run.model.family != mcore::Family::kT5) return {};
  return "an encoder's layers and cross-attention are not priced: decoder layers alone are";
}

std::string linear_attention(const mcore::Run& run, const DeviceProfile&) {
  if (!has_mixer(run, mcore::Mixer::kLinearAttention)) return {};
  return "linear attention is priced from the bytes of its kernels; no step of such a model has "
         "been compared with it";
}

std::string windows(const mcore::Run& run, const DeviceProfile&) {
  const auto& layers = run.model.layers;
  if (std::none_of(layers.begin(), layers.end(),
                   [](const mcore::LayerKind& kind) { return kind.windowed; })) {
    return {};
  }
  return "models with windowed attention were no part of the fit: two published GPT-OSS 20B runs "
         "took 1.7 and 2.5 times the predicted step";
}

std::string offload(const mcore::Run& run, const DeviceProfile&) {
  if (run.optimizer.offload_fraction > 0) {
    return "an optimizer on the host is priced as on the device: published steps took 1.9 to 4.2 "
           "times as long with 25 to 100 % of it there";
  }
  return run.place.offloads_activations ? "offloaded activations' copies are not priced" : "";
}

constexpr NoteRow kRows[] = {
    {"time.unknown-label", unknown_labels, kMeasure},
    {"time.number-format", number_format, "give a profile with such a rate"},
    {"time.float32", float32, kMeasure},
    {"time.family", family, kMeasure},
    {"time.linear-attention", linear_attention, kMeasure},
    {"time.windows", windows, kMeasure},
    {"time.offload", offload, kMeasure},
};

}  // namespace

Findings run_notes(const mcore::Run& run, const DeviceProfile& device) {
  Findings notes;
  for (const NoteRow& row : kRows) {
    if (std::string message = row.told(run, device); !message.empty()) {
      notes.push_back(
          {std::string(row.id), std::move(message), std::string(row.remedy), Severity::kNote});
    }
  }
  return notes;
}

}  // namespace refrain::cost
