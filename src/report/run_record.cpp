#include "report/run_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace refrain::report {
namespace {

using nlohmann::ordered_json;

void add_peaks(ordered_json& object, const Peaks& peaks) {
  object["peak_bytes_measured"] = peaks.measured.count();
  object["peak_bytes_ledger"] = peaks.ledger.count();
}

}  // namespace

std::string hash_text(uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string to_json(const StepRecord& record) {
  ordered_json object = {{"step", record.step},
                         {"loss", record.loss},
                         {"grad_norm", record.grad_norm},
                         {"tokens_per_s", record.tokens_per_s},
                         {"step_ms", record.step_ms}};
  add_peaks(object, record.peaks);
  return object.dump();
}

std::string to_json(const SummaryRecord& record) {
  const double tokens_per_s =
      record.seconds > 0 ? static_cast<double>(record.tokens) / record.seconds : 0;
  ordered_json object = {{"summary", true},
                         {"steps", record.steps},
                         {"tokens", record.tokens},
                         {"seconds", record.seconds},
                         {"tokens_per_s", tokens_per_s},
                         {"step_ms_p50", record.step_ms_p50},
                         {"loss", record.loss}};
  if (record.eval_loss) object["eval_loss"] = *record.eval_loss;
  add_peaks(object, record.peaks);
  object["grad_hash"] = hash_text(record.grad_hash);
  return object.dump();
}

std::string to_json(const BenchRecord& record) {
  ordered_json object = {
      {"setting", record.setting},         {"replay", record.replay},
      {"attention", record.attention},     {"tokens_per_s", record.tokens_per_s},
      {"step_ms_p50", record.step_ms_p50}, {"step_ms_p25", record.step_ms_p25},
      {"step_ms_p75", record.step_ms_p75}, {"overhead_percent", record.overhead_percent}};
  add_peaks(object, record.peaks);
  object["activation_bytes"] = record.activations.count();
  object["loss"] = record.loss;
  object["grad_hash"] = hash_text(record.grad_hash);
  return object.dump();
}

TextTable bench_table(const std::vector<BenchRecord>& records) {
  TextTable table({{"setting"},
                   {"replay"},
                   {"attention"},
                   {"tokens/s", Align::kRight},
                   {"overhead", Align::kRight},
                   {"step ms", Align::kRight},
                   {"p25..p75", Align::kRight},
                   {"peak bytes", Align::kRight},
                   {"ledger", Align::kRight},
                   {"activations", Align::kRight},
                   {"loss", Align::kRight},
                   {"gradient hash"}});
  for (const BenchRecord& r : records) {
    table.add_row(
        {r.setting, r.replay, r.attention, fmt::format("{:.0f}", r.tokens_per_s),
         fmt::format("{:+.1f} %", r.overhead_percent), fmt::format("{:.1f}", r.step_ms_p50),
         fmt::format("{:.1f}..{:.1f}", r.step_ms_p25, r.step_ms_p75),
         fmt::format("{}", r.peaks.measured.count()), fmt::format("{}", r.peaks.ledger.count()),
         to_text(r.activations), fmt::format("{:.4f}", r.loss), hash_text(r.grad_hash)});
  }
  return table;
}

}  // namespace refrain::report
