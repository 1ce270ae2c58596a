// What a run's facts do not decide.
#pragma once

namespace refrain::mcore::memory {

struct Assumptions {
  /// Rows that a rank's experts get, as a multiple of an even share.
  double expert_load = 1;
};

}  // namespace refrain::mcore::memory
