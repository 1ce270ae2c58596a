#include "mcore/memory/stage.h"

#include <fmt/format.h>

#include <utility>

#include "mcore/memory/layer/embedding.h"
#include "mcore/memory/layer/halves.h"
#include "mcore/memory/layer/head.h"
#include "mcore/memory/layer/layer.h"
#include "mcore/memory/state/parameters.h"

namespace refrain::mcore::memory {

Stage::Stage(const Run& run, int64_t rank, Memory& memory, double expert_load)
    : run_(run),
      rank_(rank),
      memory_(memory),
      expert_load_(expert_load),
      state_(run, rank, memory),
      caches_(run, memory),
      sizes_(sizes_of(run, run.batch.seq)),
      module_inputs_(run.parallel.virtual_stages, Tensor{}) {}

bool Stage::is_first(int64_t virtual_stage) const {
  return is_first_chunk(run_, rank_, virtual_stage);
}

bool Stage::is_last(int64_t virtual_stage) const {
  return is_last_chunk(run_, rank_, virtual_stage);
}

Tensor Stage::receive(std::string_view account) {
  return Tensor{memory_.allocate(sizes_.hidden, account)};
}

Pass Stage::pass_of(ForwardPass& forward) {
  return {.run = run_,
          .memory = memory_,
          .caches = caches_,
          .graph = &forward.graph,
          .sizes = sizes_,
          .chunk_input = &forward.input,
          .deferred = run_.place.deferred_head_gradients > 0 ? &deferred_ : nullptr,
          .expert_load = expert_load_};
}

/// What the data loader puts on the device: the first tensor rank has all of it, the others what
/// their stage reads (training/utils.py, get_batch_on_this_tp_rank). Ranks here are the last of
/// their tensor group.
std::vector<Storage> Stage::batch(int64_t virtual_stage) {
  const bool first = is_first(virtual_stage), last = is_last(virtual_stage);
  std::vector<Storage> batch;
  if (!first && !last) return batch;
  const auto add = [&](int64_t bytes, std::string_view account) {
    batch.push_back(memory_.allocate(bytes, account));
  };
  if (last) {
    add(sizes_.tokens * 8, "batch/labels");
    add(sizes_.tokens * 4, "batch/loss mask");
  }
  if (first || run_.parallel.tensor == 1 || (last && run_.model.mtp_layers > 0)) {
    add(sizes_.tokens * 8, "batch/tokens");
    add(sizes_.tokens * 8, "batch/positions");
  }
  if (run_.batch.attention_mask) {
    add(run_.batch.micro * sizes_.sequence * run_.batch.seq, "batch/attention mask");
  }
  return batch;
}

Tensor Stage::decoder(Pass& pass, int64_t virtual_stage, Tensor x) {
  const StageLayers stage = stage_layers(run_, rank_, virtual_stage);
  const auto kinds =
      std::span(run_.model.layers)
          .subspan(static_cast<size_t>(stage.first), static_cast<size_t>(stage.count));
  const bool padding_mask = run_.model.family == Family::kBert;
  if (run_.layer_recompute.empty()) return layers(pass, std::move(x), kinds, padding_mask);
  const auto recompute =
      std::span(run_.layer_recompute)
          .subspan(static_cast<size_t>(stage.first), static_cast<size_t>(stage.count));
  return planned_layers(pass, std::move(x), kinds, recompute, padding_mask);
}

/// T5 on one rank: the decoder's layers attend to the encoder's output between their two halves.
Tensor Stage::encoder_and_decoder(Pass& pass) {
  Pass encoder = pass;
  encoder.sizes = sizes_of(run_, run_.batch.encoder_seq);
  const std::vector<LayerKind> kinds(static_cast<size_t>(run_.model.encoder_layers));
  const Tensor encoded =
      final_norm(encoder, layers(encoder, embedding(encoder), kinds, /*padding_mask=*/true));
  Tensor x = embedding(pass);
  for (const LayerKind& kind : run_.model.layers) {
    const LayerKind mixer{.mixer = kind.mixer, .feed_forward = FeedForward::kNone};
    const LayerKind feed_forward{.mixer = Mixer::kNone, .feed_forward = kind.feed_forward};
    x = layer(pass, cross_attention_half(pass, layer(pass, x, mixer), encoded, encoder.sizes),
              feed_forward);
  }
  return x;
}

Storage Stage::gather_outside_layers(int64_t virtual_stage) {
  if (!run_.optimizer.fsdp) return nullptr;
  int64_t elements = num_elements(chunk_parameters(run_, rank_, virtual_stage));
  const StageLayers stage = stage_layers(run_, rank_, virtual_stage);
  for (int64_t i = 0; i < stage.count; ++i) {
    elements -= num_elements(layer_parameters(run_, run_.model.layers[stage.first + i]));
  }
  return memory_.allocate(elements * sizes_.element, "temporary/gathered weights");
}

ForwardPassPtr Stage::forward(int64_t virtual_stage, Tensor input) {
  memory_.mark(fmt::format("forward, chunk {}", virtual_stage));
  module_inputs_[virtual_stage] = input;
  auto forward =
      std::make_shared<ForwardPass>(ForwardPass{std::move(input), {}, Graph(memory_), nullptr});
  const std::vector<Storage> batch_on_device = batch(virtual_stage);
  state_.quantize_weights(virtual_stage);
  forward->gathered = gather_outside_layers(virtual_stage);
  Pass pass = pass_of(*forward);
  Tensor x;
  if (run_.model.family == Family::kT5) {
    x = encoder_and_decoder(pass);
  } else {
    x = is_first(virtual_stage) ? embedding(pass) : forward->input;
    x = decoder(pass, virtual_stage, std::move(x));
  }
  if (is_last(virtual_stage)) x = loss(pass, virtual_stage, x);
  forward->output = std::move(x);
  return forward;
}

Tensor Stage::loss(Pass& pass, int64_t virtual_stage, const Tensor& x) {
  pass.graph->record({}, [this, virtual_stage]() -> Gradients {
    memory_.mark(fmt::format("backward, chunk {}", virtual_stage));
    return {};
  });
  Tensor normed = final_norm(pass, x);
  if (run_.model.family == Family::kBert) normed = masked_language_transform(pass, normed);
  if (run_.model.mtp_layers > 0) {
    normed = multi_token_prediction(pass, normed, multi_token_kind(run_));
  }
  return head(pass, normed);
}

void Stage::backward(int64_t virtual_stage, ForwardPass& pass, Storage gradient) {
  memory_.mark(fmt::format("backward, chunk {}", virtual_stage));
  if (gradient != nullptr) pass.output.gradient->storage = std::move(gradient);
  pass.graph.backward();
  pass.output = Tensor{};
  pass.gathered.reset();
}

void Stage::begin_step() { state_.zero_grad(); }

void Stage::end_step() {
  deferred_.clear();
  memory_.mark("optimizer");
  state_.optimizer_step();
}

}  // namespace refrain::mcore::memory
