// Training examples: shuffled windows of a corpus, some of them held out.
//
// Window w is bytes [w (seq + 1), (w + 1) (seq + 1)): tokens are the first seq of them, targets the
// last seq, so windows share no byte, and training never sees a byte that is held out. Which
// windows are held out follows from the seed, the order of the others from seed and epoch. Nothing
// is remembered: a step number is enough to go on from.
#pragma once

#include <cstdint>
#include <span>

#include "base/finding.h"
#include "train/data/corpus.h"
#include "train/data/permutation.h"

namespace refrain::train {

/// One micro-batch of a run: `index` of `count` in this step (0-based), `size` windows each.
struct MicroBatch {
  int64_t step = 0;
  int64_t index = 0;
  int64_t count = 1;
  int64_t size = 1;

  /// Its first window in the run's sequence of windows.
  int64_t first() const { return (step * count + index) * size; }
};

class Windows {
 public:
  /// RC_CHECKs that there is a window for each side; see make_windows.
  Windows(Corpus corpus, int64_t seq, uint64_t seed);

  int64_t seq() const { return seq_; }
  /// Windows of an epoch, and held out: one in twenty, at least one.
  int64_t num_train() const { return split_.size() - num_held_out_; }
  int64_t num_held_out() const { return num_held_out_; }

  /// The run's window `index` >= 0: epoch index / num_train() sees every training window once, in
  /// an order of its own. `tokens`, `targets`: [seq]. Safe from several threads.
  void train(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets) const;
  /// Held-out window `index`, below num_held_out().
  void held_out(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets) const;

  /// All windows of a micro-batch, as train() gives them. `tokens`, `targets`: [size, seq].
  void train(const MicroBatch& place, std::span<int32_t> tokens, std::span<int32_t> targets) const;

 private:
  void read(int64_t window, std::span<int32_t> tokens, std::span<int32_t> targets) const;

  Corpus corpus_;
  int64_t seq_;
  uint64_t seed_;
  Permutation split_;  // windows in an order of which the last are held out
  int64_t num_held_out_;
};

/// Cuts a corpus into windows; `seq` >= 1. Finding data.too-small where it has not two of them, one
/// to train on and one to hold out.
Checked<Windows> make_windows(Corpus corpus, int64_t seq, uint64_t seed);

}  // namespace refrain::train
