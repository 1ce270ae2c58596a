// Checkpoints: weights, optimizer state and progress in a folder, written so that there is always
// a whole one.
//
//   FOLDER/step-00000010/{weights.safetensors, optimizer.safetensors, state.json}
//
// Problem: a save can stop anywhere (kill -9, power, a full disk), and a disk can lose bits later.
// Idea: a checkpoint is written into a hidden folder beside, brought to disk, and only then renamed
// to its name, which is atomic; the two newest stay. state.json holds a checksum of each file and
// of itself; loading reads every byte once and falls back to the checkpoint before, saying so. So
// there is no pointer to the newest one that could be wrong: the newest whole one is it.
//
// A checkpoint that takes the place of one of the same step renames that one to NAME.replaced
// first, where loading still finds it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "base/finding.h"
#include "train/disk/safetensors.h"
#include "train/disk/train_state.h"

namespace refrain::train {

/// A checkpoint on disk that has passed every check. Tensors are mapped: their bytes live as long
/// as this object.
struct Checkpoint {
  std::filesystem::path folder;
  TrainState state;
  SafetensorsFile weights, optimizer;
};

/// What to save; somebody else owns the tensors' bytes.
struct CheckpointView {
  TrainState state;
  std::span<const NamedTensor> weights, optimizer;
};

/// The checkpoints of one run in one folder.
class CheckpointFolder {
 public:
  /// Touches nothing yet.
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Saves, and waits until it is on disk; creates the folder where it is missing. Then removes
  /// what is older than the checkpoint before it, what load() found damaged, and what killed saves
  /// have left behind. Throws Error where the world does not let it (no space, no permission,
  /// another process is saving here); the checkpoints that were there are still there then.
  void save(const CheckpointView& checkpoint);

  /// The newest whole checkpoint. A note checkpoint.damaged names each newer one that is damaged,
  /// the file and what is wrong with it. Findings: checkpoint.none where the folder holds none.
  /// Throws Error where all are damaged, or a file cannot be opened, or was written by a later
  /// version.
  Checked<Checkpoint> load();

  /// To be asked before a run starts that is at `step` (0: a new one) and will save here:
  /// checkpoint.folder-in-use where the folder holds later checkpoints, which this run's would
  /// stand beside and not replace. Those that load() found damaged do not count.
  Findings check_start(int64_t step) const;

 private:
  std::filesystem::path folder_;
  std::set<std::string> damaged_;  // names in folder_
};

}  // namespace refrain::train
