#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "config/scan.h"
#include "model/dense.h"

namespace refrain::plan {
namespace {

// Layers that may share one kept input. A run of k layers replays all k at once: with n layers of
// which each keeps a tenth or less for its input, k beyond the root of n/10 only costs.
constexpr int32_t kLongestRun = 8;

int32_t longest_run(const model::ModelGraph& graph) {
  const auto layers = static_cast<int32_t>(graph.blocks.size()) - 2;
  return std::min(kLongestRun, layers);
}

/// The highest moment of a run of blocks, wherever it stands, above what is retained before it.
Bytes need_of(const Choice& choice, const FixedBytes& fixed, size_t first) {
  const size_t last = first + choice.num_blocks() - 1;
  Bytes need;
  for (int p = 0; p < kNumPhases; ++p) {
    need = std::max(need, fixed.forward[first][p] + choice.profile.forward_peak[p]);
    need = std::max(need, fixed.backward[last][p] + choice.profile.backward_peak[p]);
  }
  return need;
}

std::vector<Reason> reasons(const Frontier& frontier, const LayerDecision& decision) {
  std::vector<Reason> reasons;
  for (const Activation& a : frontier.activations) {
    const bool dropped = std::any_of(decision.recomputed.begin(), decision.recomputed.end(),
                                     [&](const std::string& name) {
                                       return a.name == name || a.name.starts_with(name + " + ");
                                     });
    reasons.push_back({a.name, a.freed, a.replay_s, decision.run > 1 || dropped});
  }
  return reasons;
}

/// The same items in another order, those that retain least first, so that layers that are treated
/// alike stand together; as they were where that would break the budget.
Picks tidied(const Knapsack& knapsack, const Picks& picks) {
  std::vector<Item> order;
  for (size_t p = 0; p < picks.items.size(); ++p) {
    if (picks.items[p] >= 0) order.push_back(knapsack.items[p][picks.items[p]]);
  }
  if (order.size() < 3) return picks;
  // The first and the last are the embedding and the head.
  std::stable_sort(order.begin() + 1, order.end() - 1, [](const Item& a, const Item& b) {
    const auto key = [](const Item& i) { return std::tuple(i.retained / i.span, -i.span, i.id); };
    return key(a) < key(b);
  });
  Picks tidy = picks;
  std::fill(tidy.items.begin(), tidy.items.end(), -1);
  size_t p = 0;
  for (const Item& item : order) {
    const auto& items = knapsack.items[p];
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const Item& other) { return other.id == item.id; });
    if (found == items.end()) return picks;
    tidy.items[p] = static_cast<int32_t>(found - items.begin());
    p += item.span;
  }
  return peak_of(knapsack, tidy.items) <= knapsack.budget ? tidy : picks;
}

Finding too_small(Bytes budget, const Planner& planner) {
  return {"plan.budget-too-small",
          fmt::format("a budget must hold the leanest plan: {} ({} bytes) is less than {} ({} "
                      "bytes), which {} needs",
                      to_text(budget), budget.count(), to_text(planner.least_peak()),
                      planner.least_peak().count(), planner.binds_at()),
          fmt::format("give {} bytes or more, or change the run", planner.least_peak().count())};
}

}  // namespace

Planner::Planner(Workload workload)
    : workload_(std::move(workload)),
      graph_(model::build_dense(workload_.model, workload_.shape)),
      schedule_(schedule_of(workload_.shape)) {
  const FrontierRequest request = {.graph = graph_,
                                   .schedule = schedule_,
                                   .rates = workload_.rates,
                                   .longest_run = longest_run(graph_)};
  frontiers_ = frontiers(request);
  fixed_ = fixed_bytes(request);
  least_ = std::max(least_budget(knapsack(Bytes())), fixed_.outside.count());
}

Knapsack Planner::knapsack(Bytes budget) const {
  Knapsack knapsack{.budget = budget.count()};
  for (size_t b = 0; b < graph_.blocks.size(); ++b) {
    auto& items = knapsack.items.emplace_back();
    const std::vector<Choice>& choices = frontiers_[graph_.blocks[b].graph].choices;
    for (int32_t c = 0; c < static_cast<int32_t>(choices.size()); ++c) {
      if (!stands_at(choices[c], b)) continue;
      items.push_back({.span = choices[c].num_blocks(),
                       .retained = choices[c].profile.retained.count(),
                       .need = need_of(choices[c], fixed_, b).count(),
                       .seconds = choices[c].profile.replay_s,
                       .id = c});
    }
  }
  return knapsack;
}

/// Every block of a run is of the graph that the run was measured with.
bool Planner::stands_at(const Choice& choice, size_t block) const {
  const size_t end = block + choice.num_blocks();
  if (end > graph_.blocks.size()) return false;
  return std::all_of(graph_.blocks.begin() + block, graph_.blocks.begin() + end,
                     [&](const model::Block& b) { return b.graph == graph_.blocks[block].graph; });
}

std::vector<const Choice*> Planner::choices_of(const Knapsack& solved, const Picks& picks) const {
  std::vector<const Choice*> choices(graph_.blocks.size(), nullptr);
  for (size_t b = 0; b < choices.size(); ++b) {
    if (picks.items[b] < 0) continue;
    const int32_t id = solved.items[b][picks.items[b]].id;
    choices[b] = &frontiers_[graph_.blocks[b].graph].choices[id];
  }
  return choices;
}

std::string Planner::binds_at() const {
  const Knapsack at_least = knapsack(Bytes(least_));
  const auto picks = solve(at_least);
  if (!picks || fixed_.outside.count() == least_) return "the optimizer step after clipping";
  const EnginePlan plan = carry_out(choices_of(at_least, *picks));
  return describe(plan.step.graph, plan.step.program,
                  plan.step.program.steps[plan.step.timeline.peak_step]);
}

Checked<EnginePlan> Planner::plan(Bytes budget, const Effort& effort) const {
  if (budget < least_peak()) return Checked<EnginePlan>::reject({too_small(budget, *this)});
  const Knapsack problem = knapsack(budget);
  const auto picks = solve(problem, effort);
  RC_CHECK(picks, "no plan inside {}, though the least peak is {}", budget.count(), least_);
  EnginePlan plan = carry_out(choices_of(problem, tidied(problem, *picks)));
  RC_CHECK(plan.step.timeline.peak <= budget, "the plan holds {} bytes of {}",
           plan.step.timeline.peak.count(), budget.count());
  plan.gap = picks->gap();
  plan.search_s = picks->seconds;
  return Checked<EnginePlan>::accept(std::move(plan));
}

int64_t Planner::predicted_peak(Bytes budget) const {
  const Knapsack problem = knapsack(budget);
  const auto picks = solve(problem);
  RC_CHECK(picks, "no plan inside {}", budget.count());
  return std::max(peak_of(problem, tidied(problem, *picks).items), fixed_.outside.count());
}

EnginePlan Planner::carry_out(const std::vector<const Choice*>& choices) const {
  EnginePlan plan{.recompute = {.actions = program::save_all(graph_)}};
  for (size_t b = 0; b < graph_.blocks.size(); ++b) {
    if (!choices[b]) continue;
    std::copy(choices[b]->actions.begin(), choices[b]->actions.end(),
              plan.recompute.actions.begin() + b);
  }
  plan.step = prepare(workload_.model, workload_.shape, plan.recompute);
  plan.timing = cost::price(plan.step.graph, plan.step.program, workload_.rates);
  plan.decisions = decisions(choices);
  for (const Frontier& frontier : frontiers_) {
    plan.examined += frontier.examined;
    plan.frontier_size += static_cast<int64_t>(frontier.choices.size());
  }
  return plan;
}

std::vector<LayerDecision> Planner::decisions(const std::vector<const Choice*>& choices) const {
  std::vector<LayerDecision> decisions;
  for (size_t b = 0; b < graph_.blocks.size(); ++b) {
    if (!choices[b] || !graph_.blocks[b].layer) continue;
    const int64_t layer = *graph_.blocks[b].layer;
    LayerDecision decision{.first = layer,
                           .last = layer + choices[b]->num_blocks() - 1,
                           .run = choices[b]->num_blocks(),
                           .recomputed = choices[b]->recomputed};
    if (!decisions.empty() && decisions.back().run == decision.run &&
        decisions.back().recomputed == decision.recomputed) {
      decisions.back().last = decision.last;
      continue;
    }
    decision.reasons = reasons(frontiers_[graph_.blocks[b].graph], decision);
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

std::vector<Reason> Planner::reasons_of(const LayerDecision& decision) const {
  const size_t block = static_cast<size_t>(decision.first) + 1;  // 0: embedding
  return reasons(frontiers_[graph_.blocks[block].graph], decision);
}

double Planner::byte_price_s(Bytes budget, const EnginePlan& plan) const {
  const int64_t more = std::max<int64_t>(1, budget.count() / 100);
  const auto cheaper = solve(knapsack(budget + Bytes(more)));
  RC_CHECK(cheaper, "more budget, no plan");
  const double saved_s = std::max(0.0, plan.search_s - cheaper->seconds);
  const auto times = static_cast<double>(workload_.shape.num_micro_batches);
  return times * saved_s / static_cast<double>(more);
}

std::vector<Lever> Planner::levers() const {
  struct Variant {
    std::string change;
    config::RunShape shape;
  };
  const config::RunShape& shape = workload_.shape;
  std::vector<Variant> variants;
  const auto add = [&](std::string change, auto edit) {
    Variant variant{std::move(change), shape};
    edit(variant.shape);
    variants.push_back(std::move(variant));
  };
  if (shape.micro_batch % 2 == 0) {
    add(fmt::format("--micro-batch {} --global-batch {}", shape.micro_batch / 2,
                    shape.micro_batch * shape.num_micro_batches),
        [](config::RunShape& s) { s.micro_batch /= 2, s.num_micro_batches *= 2; });
  }
  if (shape.seq >= 2) {
    add(fmt::format("--seq {}", shape.seq / 2), [](config::RunShape& s) { s.seq /= 2; });
  }
  if (shape.precision == config::Precision::kF32) {
    add("--dtype bf16", [](config::RunShape& s) { s.precision = config::Precision::kBf16; });
  }
  if (shape.clip_grad > 0) add("--clip-grad 0", [](config::RunShape& s) { s.clip_grad = 0; });
  if (shape.attention == config::AttentionBackend::kUnfused) {
    add("--attention fused",
        [](config::RunShape& s) { s.attention = config::AttentionBackend::kFused; });
  }
  std::vector<Lever> levers;
  for (const Variant& variant : variants) {
    const Planner planner({workload_.model, variant.shape, workload_.rates});
    const auto plan = planner.plan(planner.least_peak());
    levers.push_back({variant.change, planner.least_peak(), plan.value->timing.total_s()});
  }
  std::sort(levers.begin(), levers.end(),
            [](const Lever& a, const Lever& b) { return a.least_peak < b.least_peak; });
  return levers;
}

}  // namespace refrain::plan
