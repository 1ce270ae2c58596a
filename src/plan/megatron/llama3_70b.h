// Llama 3 70B on 32 H100s, as the published fine-tuning runs lay it out: for tests.
#pragma once

#include <cstdint>

#include "base/quantity.h"
#include "cost/device/devices.h"
#include "mcore/run.h"

namespace refrain::plan {

inline mcore::Run llama3_70b() {
  mcore::Run run;
  mcore::Model& model = run.model;
  model.layers.assign(80, {});
  model.hidden = 8192;
  model.ffn = 28672;
  model.attention = {.num_heads = 64, .num_query_groups = 8, .head_dim = 128};
  model.vocab = 128256;
  model.gated = model.rms_norm = true;
  model.linear_bias = model.tied_embeddings = false;
  model.positions = mcore::Model::Positions::kRope;
  model.attention_dropout = model.hidden_dropout = 0;
  run.parallel = {
      .num_gpus = 32, .tensor = 4, .pipeline = 4, .virtual_stages = 5, .sequence = true, .data = 2};
  run.batch = {.micro = 1, .global = 32, .seq = 4096};
  run.numerics.gemms = mcore::LowPrecision::kFp8Current;
  run.optimizer = {.distributed = true, .overlap_grad_reduce = true, .overlap_param_gather = true};
  run.place.tp_overlap = true;
  return run;
}

inline const cost::DeviceProfile& h100() {
  static const cost::DeviceProfile device = *cost::find_device("h100-80gb").value;
  return device;
}

inline Bytes gib(double number) { return Bytes(static_cast<int64_t>(number * 0x1p30)); }

}  // namespace refrain::plan
