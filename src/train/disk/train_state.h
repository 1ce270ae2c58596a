// What a checkpoint knows besides tensors, and whether a run may go on from it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/finding.h"
#include "config/fields.h"
#include "train/disk/checksum.h"
#include "train/disk/safetensors.h"
#include "train/disk/strict_json.h"

namespace refrain::train {

using config::Fields;

struct TrainState {
  int64_t step = 0;  // steps completed
  uint64_t seed = 0;
  Fields model;     // config::fields_of
  Fields settings;  // what else shapes the result, not the memory: learning rate, global batch ...

  bool operator==(const TrainState&) const = default;
};

/// May a run that asks for `asked` go on from `saved`? checkpoint.other-model lists every field
/// that differs (the model's name does not count); checkpoint.other-seed keeps held-out text held
/// out; checkpoint.other-settings is a note. Steps are not compared.
Findings check_resume(const TrainState& saved, const TrainState& asked);

/// checkpoint.other-tensors where the names, dtypes and shapes a run needs (`bytes` is ignored) are
/// not just those of the file, which `what` names; lists the first few.
Findings check_tensors(std::string_view what, const SafetensorsFile& file,
                       std::span<const NamedTensor> needed);

/// state.json of a checkpoint whose other files have these sums. One text for one state; holds its
/// own checksum, so that no byte of it can change unseen.
std::string write_state(const TrainState& state, const std::map<std::string, FileSum>& files);

struct StoredState {
  TrainState state;
  std::map<std::string, FileSum> files;
};

/// Reads what write_state wrote; the complaint completes "FILE ...". Throws Error where the text is
/// whole but of a format this version does not read; `path` is for that message.
std::variant<StoredState, Complaint> read_state(std::string_view text, const std::string& path);

}  // namespace refrain::train
