// A Program: one linear list of steps, complete to the byte. Three readers (ledger, cost, engine)
// take it as it stands, so they cannot disagree.
//
// A Value is one storage for one lifetime: an activation has one Value for forward and another for
// its replay. A step lists the Values it reads and writes in its op's own order, which of them are
// born before it, and which are freed after it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "program/recompute_plan.h"

namespace refrain::program {

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;

/// What a byte is for. One list for the ledger and for the engine's allocator.
enum class Account : uint8_t {
  kParameters,            // weights, and float32 masters beside bf16
  kTables,                // constants: RoPE cosines and sines
  kOptimizer,             // both AdamW moments
  kGradients,             // of parameters
  kBatch,                 // token ids and targets
  kSavedActivations,      // written in forward, read in backward
  kTransientActivations,  // written and freed in forward
  kReplayedActivations,   // written by a replay
  kActivationGradients,
  kLossHead,  // logits of one chunk and what goes with them
  kScratch,   // inside a kernel
};
inline constexpr int kNumAccounts = 11;
std::string_view to_text(Account account);

enum class ValueKind : uint8_t {
  kParameter,
  kMaster,
  kFirstMoment,
  kSecondMoment,
  kTable,
  kParameterGradient,
  kTokens,
  kTargets,
  kActivation,
  kActivationGradient,
};

struct Value {
  ValueKind kind;
  Account account;
  model::DType dtype;
  model::Shape shape;
  int32_t param = -1;  // parameters and what belongs to them: index into Program::params
  int32_t block = -1, tensor = -1;  // activations and their gradients
  int32_t micro_batch = -1;
  bool replayed = false;

  Bytes bytes() const { return model::size_of(dtype) * model::numel(shape); }
};

enum class StepKind : uint8_t {
  kLoadBatch,  // writes tokens and targets
  kForward,
  kReplay,
  kLoss,  // the head: forward and backward at once (training), or loss only (evaluation)
  kBackward,
  kBackwardWeights,  // of an op that splits its backward
  kBackwardInputs,
  kClip,    // global gradient norm -> clipping factor; reads every gradient
  kUpdate,  // optimizer step of one parameter
};
std::string_view to_text(StepKind kind);

struct Step {
  StepKind kind;
  OpRef op;  // all but kLoadBatch, kClip, kUpdate
  int32_t micro_batch = -1;
  int32_t param = -1;  // kUpdate

  /// forward, replay: the op's reads. backward: its backward_reads. kLoss: x, targets.
  /// Embedding forward and backward: tokens. kUpdate: gradient. kClip: all gradients.
  std::vector<ValueId> reads;
  /// forward, replay: the op's writes. backward: gradients of the op's reads (kNoValue: unwanted).
  std::vector<ValueId> writes;
  std::vector<ValueId> write_gradients;  // backward: gradients of the op's writes, or kNoValue
  std::vector<ValueId> params;           // forward, backward, loss: the op's; kUpdate: weight,
                                         // [master], first and second moment
  std::vector<ValueId> param_gradients;  // backward, loss: of params, kNoValue where not trained
  std::vector<bool> accumulate;          // one a write
  std::vector<bool> accumulate_params;   // one a param gradient

  struct Takeover {
    ValueId from, to;  // `from` ends here and `to` begins in its storage
  };
  std::vector<ValueId> born;        // allocated before the step
  std::vector<Takeover> takeovers;  // before the step
  std::vector<ValueId> freed;       // after the step
  Bytes scratch;                    // while the step runs
  Account scratch_account = Account::kScratch;
};

struct Program {
  std::vector<Value> values;
  std::vector<ValueId> residents;  // alive before the first step and after the last
  std::vector<Step> steps;
  model::ModelParams params;
};

/// The tensor's or parameter's own name ("attn.qkv", "layers.3.attn.qkv_proj.weight").
std::string name_of(const model::ModelGraph& graph, const Program& program, const Value& value);

/// "layers.3 attn.qkv (saved_activations), micro-batch 1".
std::string describe(const model::ModelGraph& graph, const Program& program, const Value& value);

/// "backward layers.3 attn.core, micro-batch 1".
std::string describe(const model::ModelGraph& graph, const Program& program, const Step& step);

}  // namespace refrain::program
