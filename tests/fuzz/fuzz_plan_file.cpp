// Any bytes as a plan file: refused, or a plan that the model can be run by.
#include <string_view>

#include "findings.h"
#include "plan/plan_file.h"
#include "plan/prepare.h"

namespace {

using namespace refrain;

/// The run that the plans in corpus/plan_file are made for.
const config::ModelConfig kModel = {.name = "tiny",
                                    .num_layers = 4,
                                    .hidden = 16,
                                    .num_heads = 2,
                                    .num_kv_heads = 1,
                                    .head_dim = 8,
                                    .ffn_hidden = 24,
                                    .vocab = 32,
                                    .max_positions = 16};
const config::RunShape kShape = {.micro_batch = 2, .seq = 16};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = plan::read_plan(text, kModel, kShape);
  fuzz::hold(read, size);
  fuzz::hold(plan::read_saved_plan(text), size);
  if (read.value) plan::prepare(kModel, kShape, *read.value);  // verifies the program
  return 0;
}
