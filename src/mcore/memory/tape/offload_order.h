// In what order the offloaded groups of a rank's micro-batches come back (core/pipeline_parallel/
// fine_grained_activation_offload.py, PipelineOffloadManager).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mcore/memory/tape/graph.h"

namespace refrain::mcore::memory {

/// The first round, a step on most ranks, offloads everything and notes in what order backwards
/// come and how many groups a chunk has of each module. Later ones keep what is needed next, and
/// once a chunk has nothing left to bring back, they bring back the end of the chunk that is next.
class OffloadOrder {
 public:
  /// One forward of a chunk of layers.
  struct Chunk {
    int64_t index = 0;                      // of the round's forwards
    OffloadStack away;                      // groups that left and are not back yet
    std::map<std::string, int64_t> opened;  // groups, by module
    bool in_backward = false;
  };
  using ChunkPtr = std::shared_ptr<Chunk>;

  /// A group of `module` opens in the forward whose groups leave to `away`.
  ChunkPtr open(const OffloadStack& away, const std::string& module);

  /// True where a group of `module` that is done stays: it is the last of the chunk whose backward
  /// is next (should_bulk_offload).
  bool stays(const Chunk& chunk, const std::string& module) const;

  /// The backward of `chunk` begins, if it has not yet.
  void begin_backward(Chunk& chunk);

  /// Brings one group back ahead of its backward: of `chunk`, or else of the next one, if all of
  /// its forward is done (bulk_reload).
  void reload_ahead(Chunk& chunk);

 private:
  using Counts = std::map<std::string, int64_t>;

  bool learning() const { return num_rounds_ == 0; }

  int64_t num_rounds_ = 0, num_in_flight_ = 0, num_popped_ = 0;
  std::vector<ChunkPtr> chunks_;   // of this round, by index
  std::vector<int64_t> backward_;  // indices, in the order of the first round's backwards
  std::vector<Counts> groups_;     // by index: of the first round
};

}  // namespace refrain::mcore::memory
