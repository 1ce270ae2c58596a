#include "config/check/raised.h"

namespace refrain::config {
namespace {

// argparse's error() leaves by sys.exit (Python's library reference, argparse).
constexpr std::string_view kByArgparse = "SystemExit";
// What parse_hydra_overrides makes of all that Hydra and OmegaConf, in struct mode, raise
// (Megatron-Bridge, training/utils/omegaconf_utils.py).
constexpr std::string_view kByOverrides = "OverridesError";
// A dataclass's constructor and an unexpected keyword argument.
constexpr std::string_view kByConstructor = "TypeError";

struct Row {
  std::string_view rule, exception;
};
constexpr Row kReading[] = {
    {"flag.not-true-or-false", kByArgparse},    {"flag.switch-with-value", kByArgparse},
    {"override.empty-key", kByOverrides},       {"override.no-value", kByOverrides},
    {"override.malformed-value", kByOverrides}, {"override.unknown-part", kByOverrides},
};

}  // namespace

std::string_view raised_by_reading(std::string_view rule) {
  for (const Row& row : kReading) {
    if (row.rule == rule) return row.exception;
  }
  return {};
}

std::string_view raised_by_knob(std::string_view rule, Origin origin, Dialect dialect) {
  // Constructors take a value of any type: nobody raises for knob.wrong-type as such.
  if (rule != "knob.unknown" && rule != "knob.not-in-dialect") return {};
  switch (origin) {
    case Origin::kDefault:  // a keyword argument
    case Origin::kRecipe:
      return kByConstructor;
    case Origin::kOverride:  // a release's class is judged, not the program around it
      return is_mcore(dialect) ? kByConstructor : kByOverrides;
    case Origin::kFile:  // of one program or another: see read_config_text
    case Origin::kFlag:  // Megatron-LM stops, the harness takes it for an override
      break;
  }
  return {};
}

}  // namespace refrain::config
