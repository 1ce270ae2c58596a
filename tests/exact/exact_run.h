// Runs a prepared step for three optimizer steps and holds every step of its Program against the
// ledger.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/executor.h"
#include "engine/memory/counting_allocator.h"
#include "plan/prepare.h"

namespace refrain::exact {

/// Text that is no text: a fixed pattern over the vocabulary.
inline engine::BatchSource pattern(int64_t vocab, int64_t step) {
  return [=](int64_t micro_batch, std::span<int32_t> tokens, std::span<int32_t> targets) {
    uint64_t state = static_cast<uint64_t>(step * 1000 + micro_batch) + 1;
    const auto next = [&] {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocab));
    };
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = next();
      targets[i] = next();
    }
  };
}

struct Outcome {
  std::vector<double> losses, norms;
  std::vector<uint64_t> hashes;
  std::vector<at::Tensor> weights;
};

/// Three optimizer steps; every step of the Program is held against the ledger.
inline Outcome run_exactly(const plan::PreparedStep& step, int64_t vocab,
                           const config::RunShape& shape) {
  engine::install_counting_allocator();
  at::set_num_threads(static_cast<int>(shape.threads));
  const ledger::Balances before = engine::held_by_account();
  Outcome outcome;
  engine::Weights weights = engine::init_weights(step.program, 7);
  engine::Executor executor(step.graph, step.program, weights);
  const auto with_before = [&](ledger::Balances balances) {
    for (size_t a = 0; a < balances.size(); ++a) balances[a] += before[a];
    return balances;
  };
  EXPECT_EQ(engine::held_by_account(), with_before(step.timeline.residents));
  int wrong = 0;
  const auto after_step = [&](size_t s) {
    const ledger::Entry& entry = step.timeline.entries[s];
    const bool exact = engine::held_by_account() == with_before(entry.after) &&
                       engine::peak_held() == ledger::total(with_before(entry.during));
    if (!exact && ++wrong <= 3) {
      ADD_FAILURE() << program::describe(step.graph, step.program, step.program.steps[s])
                    << ": held " << engine::held().count() << ", ledger "
                    << ledger::total(with_before(entry.after)).count() << "; most "
                    << engine::peak_held().count() << ", ledger "
                    << ledger::total(with_before(entry.during)).count();
    }
    engine::reset_peak();
  };
  for (int64_t s = 1; s <= 3; ++s) {
    const engine::StepResult result = executor.run(
        pattern(vocab, s),
        {.adamw = {.step = s}, .clip_grad = shape.clip_grad, .seed = 3, .hash_gradients = true},
        after_step);
    outcome.losses.push_back(result.loss);
    outcome.norms.push_back(result.grad_norm);
    outcome.hashes.push_back(*result.grad_hash);
  }
  outcome.weights = weights.weight;
  return outcome;
}

inline void expect_equal(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.norms, b.norms);
  EXPECT_EQ(a.hashes, b.hashes);
  for (size_t p = 0; p < a.weights.size(); ++p) {
    EXPECT_TRUE(at::equal(a.weights[p], b.weights[p])) << "parameter " << p;
  }
}

}  // namespace refrain::exact
