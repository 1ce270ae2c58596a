// Uses an installed Refrain: prints its version, then the peak bytes of a tiny model under two
// recompute settings, one line each.
#include <cstdio>

#include "base/version.h"
#include "config/model_config.h"
#include "config/recompute_setting.h"
#include "ledger/ledger.h"
#include "model/dense.h"
#include "plan/presets.h"
#include "program/lower.h"

int main() {
  using namespace refrain;
  std::printf("version %s\n", std::string(version()).c_str());

  config::RunShape shape;
  shape.seq = 16;
  const auto graph = model::build_dense(config::find_model("llama-tiny").value.value(), shape);
  for (const char* setting : {"none", "full:uniform:1"}) {
    const auto plan = plan::make_plan(graph, config::parse_recompute(setting).value.value(),
                                      program::ReplayPolicy::kDemand);
    const auto timeline = ledger::simulate(program::lower(graph, plan, {}));
    std::printf("%s %lld\n", setting, static_cast<long long>(timeline.peak.count()));
  }
}
