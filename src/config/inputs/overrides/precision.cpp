// Source: Megatron-Bridge's MixedPrecisionConfig (training/mixed_precision.py), whose fields
// overwrite the model's of the same name.
#include "config/inputs/overrides/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "config/inputs/values/literal.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

/// A recipe of mixed precision: what it sets in the model beside the type that `half` names.
struct Precision {
  std::string_view name, half, values;
};
constexpr Precision kPrecisions[] = {
    {"bf16_mixed", "bf16", "fp8=null"},
    {"fp16_mixed", "fp16", "fp8=null"},
    {"bf16_with_fp8_delayed_scaling_mixed", "bf16", "fp8=hybrid fp8_recipe=delayed fp8_param=true"},
    {"fp16_with_fp8_delayed_scaling_mixed", "fp16", "fp8=hybrid fp8_recipe=delayed fp8_param=true"},
    {"bf16_with_mxfp8_mixed", "bf16", "fp8=e4m3 fp8_recipe=mxfp8 fp8_param=true"},
    {"fp16_with_mxfp8_mixed", "fp16", "fp8=e4m3 fp8_recipe=mxfp8 fp8_param=true"},
    {"bf16_with_fp8_current_scaling_mixed", "bf16",
     "fp8=hybrid fp8_recipe=tensorwise fp8_param=true first_last_layers_bf16=true "
     "num_layers_at_start_in_bf16=1 num_layers_at_end_in_bf16=1"},
    {"fp16_with_fp8_current_scaling_mixed", "fp16",
     "fp8=hybrid fp8_recipe=tensorwise fp8_param=true first_last_layers_bf16=true "
     "num_layers_at_start_in_bf16=1 num_layers_at_end_in_bf16=1"},
    {"nemotron_h_bf16_with_fp8_current_scaling_mixed", "bf16",
     "fp8=hybrid fp8_recipe=tensorwise fp8_param=true first_last_layers_bf16=true "
     "num_layers_at_start_in_bf16=2 num_layers_at_end_in_bf16=2"},
    {"nanov2_bf16_with_fp8_current_scaling_mixed", "bf16",
     "fp8=hybrid fp8_recipe=blockwise fp8_param=true first_last_layers_bf16=true "
     "num_layers_at_start_in_bf16=2 num_layers_at_end_in_bf16=2"},
    {"bf16_with_fp8_subchannel_scaling_mixed", "bf16",
     "fp8=hybrid fp8_recipe=blockwise fp8_param=false"},
    {"fp16_with_fp8_subchannel_scaling_mixed", "fp16",
     "fp8=hybrid fp8_recipe=blockwise fp8_param=false"},
    {"bf16_with_nvfp4_mixed", "bf16",
     "fp8=null fp8_param=false fp4=e2m1 fp4_recipe=nvfp4 fp4_param=true"},
    {"nemotron_3_super_bf16_with_nvfp4_mixed", "bf16",
     "fp8=null fp8_param=false fp4=e2m1 fp4_recipe=nvfp4 fp4_param=true "
     "first_last_layers_bf16=true num_layers_at_start_in_bf16=0 num_layers_at_end_in_bf16=14"},
};

Assignments assignments_of(const Precision& precision, const Source& source) {
  const bool is_bf16 = precision.half == "bf16";
  Assignments made = {{"bf16", is_bf16, source},
                      {"fp16", !is_bf16, source},
                      {"pipeline_dtype", is_bf16 ? "bfloat16" : "float16", source}};
  for (const std::string& piece : split(precision.values, ' ')) {
    const size_t equals = piece.find('=');
    const Checked<Value> value = read_scalar(piece.substr(equals + 1), {"", piece});
    made.push_back({piece.substr(0, equals), value.value.value(), source});
  }
  return made;
}

Finding unknown_precision(const std::string& name, const Reading& reading) {
  std::vector<std::string> names;
  for (const Precision& known : kPrecisions) names.emplace_back(known.name);
  const auto near = nearest(name, names);
  return {fmt::format("{}.unknown-precision", reading.family),
          fmt::format("mixed_precision must be one of {}: {}", joined(names), in_quotes(name)),
          near ? fmt::format("did you mean {}?", *near) : "write model.bf16=true and the like"};
}

}  // namespace

Checked<Assignments> precision_assignments(std::string name, const Source& source,
                                           const Reading& reading) {
  std::replace(name.begin(), name.end(), '-', '_');
  for (const Precision& known : kPrecisions) {
    if (name == known.name) return Checked<Assignments>::accept(assignments_of(known, source));
  }
  return Checked<Assignments>::reject({unknown_precision(name, reading)});
}

}  // namespace refrain::config
