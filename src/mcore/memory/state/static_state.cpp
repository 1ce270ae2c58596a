#include "mcore/memory/state/static_state.h"

#include <algorithm>
#include <cmath>

#include "mcore/memory/state/buffer_layout.h"
#include "mcore/memory/tape/sizes.h"

namespace refrain::mcore::memory {

StaticState::StaticState(const Run& run, int64_t rank, Memory& memory)
    : run_(run), rank_(rank), memory_(memory) {
  const int64_t stages = run.parallel.virtual_stages;
  for (int64_t stage = 0; stage < stages; ++stage) {
    chunks_.push_back(chunk_parameters(run, rank, stage));
    std::vector<Storage> modules;
    for (const Parameter& parameter : chunks_.back()) {
      modules.push_back(memory.allocate(weight_bytes(parameter), "state/weights"));
    }
    modules_.push_back(std::move(modules));
  }
  quantized_.resize(chunks_.size());
  for (int64_t stage = 0; stage < stages; ++stage) build_buffers(stage);
  // Experts have an optimizer of their own, made after that of all other parameters.
  for (const bool expert : {false, true}) {
    for (int64_t stage = 0; stage < stages; ++stage) {
      for (const Group& group : groups_of(stage)) {
        if (group.expert == expert) build_main_weights(group);
      }
    }
  }
  if (run.place.resumed) allocate_moments();
}

std::vector<StaticState::Group> StaticState::groups_of(int64_t virtual_stage) const {
  std::vector<Group> groups;
  for (const bool expert : {false, true}) {
    for (const bool quantized : {false, true}) {
      Group group{{}, expert, quantized, is_first_chunk(run_, rank_, virtual_stage)};
      for (const Parameter& parameter : chunks_[virtual_stage]) {
        const bool narrow = run_.numerics.low_precision_params && parameter.quantized;
        if (parameter.expert == expert && narrow == quantized)
          group.parameters.push_back(parameter);
      }
      if (!group.parameters.empty()) groups.push_back(std::move(group));
    }
  }
  return groups;
}

int64_t StaticState::weight_bytes(const Parameter& parameter) const {
  return run_.numerics.low_precision_params && parameter.quantized
             ? low_precision_bytes(run_.numerics.gemms, parameter.elements)
             : parameter.elements * element_bytes(run_);
}

void StaticState::keep(int64_t bytes, std::string_view account) {
  kept_.push_back(memory_.allocate(bytes, account));
}

int64_t StaticState::on_device(int64_t bytes) const {
  const double share = 1 - run_.optimizer.offload_fraction;
  return static_cast<int64_t>(std::llround(static_cast<double>(bytes) * share));
}

void StaticState::build_buffers(int64_t virtual_stage) {
  const std::vector<Parameter>& parameters = chunks_[virtual_stage];
  for (const Group& group : groups_of(virtual_stage)) {
    if (!run_.optimizer.distributed && !run_.optimizer.fsdp) {
      keep(num_elements(group.parameters) * run_.numerics.gradient_bytes, "state/main gradients");
      continue;
    }
    if (run_.optimizer.fsdp) {
      build_sharded(group);
      modules_[virtual_stage].clear();
      continue;
    }
    const BufferLayout layout =
        lay_out(group.parameters, layout_rules(run_, group.expert, group.first_chunk));
    keep(group.quantized ? low_precision_bytes(run_.numerics.gemms, layout.elements)
                         : layout.elements * element_bytes(run_),
         "state/weights");
    keep(layout.elements * run_.numerics.gradient_bytes, "state/main gradients");
    for (size_t i = 0; i < parameters.size(); ++i) {
      const bool narrow = run_.numerics.low_precision_params && parameters[i].quantized;
      if (parameters[i].expert == group.expert && narrow == group.quantized) {
        modules_[virtual_stage][i].reset();
      }
    }
  }
}

void StaticState::build_sharded(const Group& group) {
  const int64_t shards = optimizer_shards(run_, group.expert);
  int64_t weights = 0;
  for (const Parameter& parameter : group.parameters) weights += weight_bytes(parameter);
  keep((weights + shards - 1) / shards, "state/weights");
  keep((num_elements(group.parameters) * run_.numerics.gradient_bytes + shards - 1) / shards,
       "state/main gradients");
}

void StaticState::build_main_weights(const Group& group) {
  const bool has_copies = element_bytes(run_) == 2;
  const auto add = [&](int64_t elements) {
    main_elements_.push_back(elements);
    if (has_copies && !run_.optimizer.precision_aware) {
      keep(on_device(elements * run_.optimizer.main_param_bytes), "state/main weights");
    }
  };
  if (run_.optimizer.fsdp) {
    const int64_t shards = optimizer_shards(run_, group.expert);
    for (const Parameter& parameter : group.parameters) {
      add((parameter.elements + shards - 1) / shards);
    }
    return;
  }
  if (run_.optimizer.distributed) {
    const LayoutRules rules = layout_rules(run_, group.expert, group.first_chunk);
    for (const int64_t elements : lay_out(group.parameters, rules).shards) add(elements);
    return;
  }
  for (const Parameter& parameter : group.parameters) {
    // param.detach().clone().float(): the clone lives as long as the cast.
    const Storage clone =
        has_copies ? memory_.allocate(parameter.elements * 2, "temporary/main weights") : nullptr;
    add(parameter.elements);
  }
}

void StaticState::zero_grad() { main_gradients_.clear(); }

void StaticState::quantize_weights(int64_t virtual_stage) {
  if (!quantizes(run_) || quantized_[virtual_stage]) return;
  quantized_[virtual_stage] = true;
  // Forward and weight-gradient GEMMs read a weight along different axes: two copies, but for
  // per-tensor scales from compute capability 10.0, where one serves both.
  const bool per_tensor = run_.numerics.gemms == LowPrecision::kFp8Delayed ||
                          run_.numerics.gemms == LowPrecision::kFp8Current;
  int64_t copies = per_tensor && run_.place.compute_capability >= 100 ? 1 : 2;
  if (run_.numerics.low_precision_params) --copies;  // one of them is the weight itself
  for (const Parameter& parameter : chunks_[virtual_stage]) {
    if (!parameter.quantized) continue;
    for (int64_t i = 0; i < copies; ++i) {
      keep(low_precision_bytes(run_.numerics.gemms, parameter.elements),
           "state/low-precision weights");
    }
  }
}

void StaticState::allocate_moments() {
  if (has_moments_) return;
  has_moments_ = true;
  for (const int64_t elements : main_elements_) {
    if (run_.optimizer.precision_aware) {
      keep(on_device(elements * run_.optimizer.main_param_bytes), "state/main weights");
    }
    keep(on_device(elements * run_.optimizer.moment_bytes), "state/adam moments");
    keep(on_device(elements * run_.optimizer.moment_bytes), "state/adam moments");
  }
}

void StaticState::optimizer_step() {
  // Main weights take gradients of their own width.
  if (run_.numerics.gradient_bytes != 4) {
    for (const int64_t elements : main_elements_) {
      main_gradients_.push_back(memory_.allocate(elements * 4, "state/main gradient copies"));
    }
  }
  allocate_moments();
  // The distributed optimizer's copies stay until the next step zeroes gradients.
  if (!run_.optimizer.distributed) main_gradients_.clear();
}

}  // namespace refrain::mcore::memory
