// One row of a table of measured runs: what ran, and what was measured of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// Which pipeline rank a peak was read from.
enum class PeakRank { kFirst, kLast, kHighest };

struct MeasuredPeak {
  Bytes bytes;
  PeakRank rank = PeakRank::kHighest;
  bool first_step_only = false;  // the run ended after one step
};

struct Sample {
  std::string name;    // "gpt/gpt3_mcore_te_tp1_pp1 dgx_a100 dev", for people
  std::string family;  // rows of one family are summed up together
  mcore::Run run;
  std::optional<MeasuredPeak> peak;
  std::optional<double> step_ms;
  /// Where only that is known: FLOP/s a GPU in the sense of cost::published_flops, in 10^12.
  std::optional<double> tflops_per_gpu;
  std::vector<std::string> notes;  // what was assumed, and what keeps a figure from being compared
};

}  // namespace refrain::accuracy
