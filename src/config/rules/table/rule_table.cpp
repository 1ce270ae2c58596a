#include "config/rules/table/rule_table.h"

#include "config/rules/graphs/parts.h"
#include "config/rules/model/parts.h"
#include "config/rules/recompute/parts.h"

namespace refrain::config {

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> rules;
  for (const auto part :
       {parallel_rules(), precision_rules(), moe_rules(), granularity_rules(), label_rules(),
        stream_rules(), offload_rules(), layout_rules(), model_rules(), graph_spelling_rules(),
        graph_implementation_rules(), graph_capture_rules(), graph_replay_rules(), overlap_rules(),
        gradient_rules(), mla_rules()}) {
    for (const Rule& rule : part) rules.push_back(&rule);
  }
  return rules;
}

}  // namespace refrain::config
