// Numbers of the published model, in milliseconds and host units, that the fit was made with: every
// stage of a prediction within 1 %, so that a wrong term shows where it is.
#include <gtest/gtest.h>

#include "cost/published_runs.h"
#include "cost/step_time.h"

namespace refrain::cost {
namespace {

void expect_within(double actual, double expected, double share, const char* what) {
  EXPECT_NEAR(actual, expected, share * expected) << what;
}

struct Vector {
  double forward_ms, backward_ms, replay_ms;
  double host_forward, host_backward, host_replay;
  double head_forward_ms, head_backward_ms;
  double micro_batch_ms, step_s;
};

/// Replays are given with three decimals of a millisecond and whole host units: half of the last
/// digit is allowed too.
void expect_vector(const mcore::Run& run, const char* device_name, const Vector& expected) {
  const StepTime time = step_time(run, device(device_name));
  const LayerTime& layer = time.kinds.back().layer;  // the experts layer where there are two kinds
  expect_within(1e3 * layer.forward_s, expected.forward_ms, 0.01, "forward");
  expect_within(1e3 * layer.backward_s, expected.backward_ms, 0.01, "backward");
  EXPECT_NEAR(1e3 * layer.replay_s, expected.replay_ms, 0.01 * expected.replay_ms + 0.0005);
  expect_within(layer.host_forward, expected.host_forward, 0.01, "host, forward");
  expect_within(layer.host_backward, expected.host_backward, 0.01, "host, backward");
  EXPECT_NEAR(layer.host_replay, expected.host_replay, 0.01 * expected.host_replay + 0.5);
  expect_within(1e3 * time.head.forward_s, expected.head_forward_ms, 0.01, "head, forward");
  expect_within(1e3 * time.head.backward_s, expected.head_backward_ms, 0.01, "head, backward");
  expect_within(1e3 * time.micro_batch.seconds(), expected.micro_batch_ms, 0.01, "micro-batch");
  expect_within(time.step_s, expected.step_s, 0.01, "step");
}

TEST(CheckVectors, Llama3With70BOn32H100) {
  const mcore::Run none = llama3_70b();
  Vector expected = {2.279, 4.285, 0, 71, 93, 0, 3.645, 6.691, 142.5, 2.476};
  expect_vector(none, "h100", expected);
  const auto expect_replay = [&](const mcore::Run& run, double replay_ms, double units,
                                 double micro_batch_ms, double step_s) {
    expected.replay_ms = replay_ms;
    expected.host_replay = units;
    expected.micro_batch_ms = micro_batch_ms;
    expected.step_s = step_s;
    expect_vector(run, "h100", expected);
  };
  expect_replay(with_labels(none, {"core_attn"}), 0.107, 23, 145.1, 2.518);
  expect_replay(with_labels(none, {"mlp"}), 1.546, 42, 173.6, 2.993);
  expect_replay(with_full(none), 2.279, 86, 189.0, 3.248);
}

TEST(CheckVectors, MoonlightOn8H100) {
  const mcore::Run none = moonlight();
  Vector expected = {1.714, 2.654, 0, 174.4, 197.4, 0, 3.583, 5.638, 228.2, 0.326};
  expect_vector(none, "h100", expected);
  expected.replay_ms = 0.130;
  expected.host_replay = 33;
  expected.micro_batch_ms = 248.2;
  expected.step_s = 0.346;
  expect_vector(with_labels(none, {"mla_up_proj"}), "h100", expected);
  expected.replay_ms = 0.063;
  expected.host_replay = 45;
  expected.micro_batch_ms = 254.7;
  expected.step_s = 0.353;
  expect_vector(with_labels(none, {"layernorm", "moe_act"}), "h100", expected);
}

TEST(CheckVectors, DeepSeekV3On256Gb300) {
  expect_vector(deepseek_v3(), "gb300", {3.754, 7.041, 0, 7.0, 9.1, 0, 10.21, 18.41, 351.8, 11.46});
}

}  // namespace
}  // namespace refrain::cost
