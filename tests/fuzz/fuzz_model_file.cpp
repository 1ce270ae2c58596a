// Any bytes as the config.json of a published model, for a check and for training.
#include <nlohmann/json.hpp>
#include <string_view>

#include "config/check/check.h"
#include "config/hugging_face/hf_config.h"
#include "config/hugging_face/model_file.h"
#include "config/inputs/hugging_face/model_knobs.h"
#include "findings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refrain;
  using namespace refrain::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::hold(parse_hf_config(text, "config.json"), size);
  const auto file = parse_model_text(text, "config.json");
  fuzz::hold(file, size);
  if (!file.value) return 0;
  const auto read = model_knobs(*file.value, "config.json");
  fuzz::hold(read, size);
  if (read.value) check(*read.value, read.findings, Dialect::kRefrain);
  return 0;
}
