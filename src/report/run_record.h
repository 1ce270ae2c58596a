// What a run tells: a step, a whole run, a row of a comparison. JSON lines for programs, a table
// for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/text_table.h"

namespace refrain::report {

struct Peaks {
  Bytes measured;  // highest count of the engine's allocator
  Bytes ledger;    // what the ledger says it is
};

struct StepRecord {
  int64_t step = 0;  // the first is 1
  double loss = 0;
  double grad_norm = 0;
  double tokens_per_s = 0;
  double step_ms = 0;
  Peaks peaks;
};

struct SummaryRecord {
  int64_t steps = 0;  // of this run: resumed ones do not count
  int64_t tokens = 0;
  double seconds = 0;
  double loss = 0;  // of the last step
  std::optional<double> eval_loss;
  double step_ms_p50 = 0;
  Peaks peaks;             // over all steps
  uint64_t grad_hash = 0;  // over all gradient bytes of the last step
};

struct BenchRecord {
  std::string setting;
  std::string replay;
  std::string attention;
  double tokens_per_s = 0;  // at the median step
  double step_ms_p50 = 0;
  double step_ms_p25 = 0, step_ms_p75 = 0;  // the spread
  double overhead_percent = 0;              // median step against no recompute
  Peaks peaks;
  Bytes activations;  // saved ones, at the end of forward
  double loss = 0;
  uint64_t grad_hash = 0;
};

// One JSON object without line feeds. A number that JSON lacks (NaN, infinity) is null. Hashes are
// strings of 16 hexadecimal digits, because JSON's numbers lose the low bits.
std::string to_json(const StepRecord& record);
std::string to_json(const SummaryRecord& record);  // has "summary": true
std::string to_json(const BenchRecord& record);

/// "00ff00ff00ff00ff".
std::string hash_text(uint64_t hash);

/// A row a record: what a setting costs and what it frees.
TextTable bench_table(const std::vector<BenchRecord>& records);

}  // namespace refrain::report
