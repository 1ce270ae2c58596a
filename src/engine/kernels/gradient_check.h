// Test support: runs one op's kernels as the executor would, and checks them against LibTorch's
// autograd in float64.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/kernels/kernel.h"
#include "engine/numerics/dispatch.h"
#include "engine/numerics/test_tensors.h"
#include "model/scratch.h"

namespace refrain::engine {

/// One op with data. Tensor ids in the op's lists: reads are 0, 1, ...; writes follow.
struct OpCase {
  model::Op op;           // kind, attributes, backward_reads and storage rules; lists are filled
  Tensors reads, params;  // in the storage dtype
  Tensors write_specs;    // shape and dtype of each write
  at::Tensor output_gradient;      // of writes[0]
  size_t num_trained = 0;          // the first params, which have a gradient
  bool has_input_gradient = true;  // false: reads are token ids
};

/// What forward and backward left behind; undefined where there is no such gradient.
struct OpResult {
  Tensors writes, read_gradients{}, param_gradients{};
};

struct RunOptions {
  KernelSet set = KernelSet::kFused;
  int threads = 1;
  bool accumulate = false;  // gradients already hold ones
  DropoutKey key = {.seed = 7, .stream = 11};
};

inline model::TensorSpec spec_of(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  const model::DType dtype = type == at::kDouble     ? model::DType::kF64
                             : type == at::kBFloat16 ? model::DType::kBF16
                             : type == at::kInt      ? model::DType::kI32
                                                     : model::DType::kF32;
  return {"t", tensor.sizes().vec(), dtype};
}

/// Fills the op's lists and its scratch, as model/ does for `threads` workers.
inline model::Op complete(const OpCase& test, int threads) {
  model::LayerGraph graph;
  model::Op op = test.op;
  for (const Tensors* list : {&test.reads, &test.write_specs}) {
    for (const at::Tensor& tensor : *list) {
      (list == &test.reads ? op.reads : op.writes)
          .push_back(static_cast<int>(graph.tensors.size()));
      graph.tensors.push_back(spec_of(tensor));
    }
  }
  for (const at::Tensor& param : test.params) {
    op.params.push_back(static_cast<int>(graph.params.size()));
    graph.params.push_back({.name = "p", .shape = param.sizes().vec()});
  }
  const model::Scratch scratch = model::scratch_of(graph, op, threads);
  op.forward_scratch = scratch.forward;
  op.backward_scratch = scratch.backward;
  return op;
}

/// A gradient before backward: ones to accumulate on, or NaN to overwrite.
inline GradientOut new_gradient(const at::Tensor& like, at::ScalarType dtype, bool accumulate) {
  const double value = accumulate ? 1 : std::numeric_limits<double>::quiet_NaN();
  return {at::full(like.sizes(), value, at::TensorOptions().dtype(dtype)), accumulate};
}

/// Runs forward into NaN-filled tensors (in place where the op says so).
inline Tensors run_forward(const OpCase& test, const model::Op& op, const RunOptions& options) {
  Tensors reads, writes;
  for (const at::Tensor& read : test.reads) reads.push_back(read.clone());
  for (const at::Tensor& spec : test.write_specs) writes.push_back(at::full_like(spec, NAN));
  if (op.in_place_read) writes[0] = reads[*op.in_place_read].view(test.write_specs[0].sizes());
  const NanScratch scratch(op.forward_scratch);
  kernel_of(op.kind, options.set)
      .forward(op, {reads, test.params, writes, scratch.block(), options.key});
  return writes;
}

/// Runs forward, then backward with storage shared and reused as the op says.
inline OpResult run_op(const OpCase& test, const RunOptions& options) {
  const ThreadScope scope(options.threads);
  const model::Op op = complete(test, options.threads);
  OpResult result{.writes = run_forward(test, op, options)};
  const auto num_reads = static_cast<int>(test.reads.size());
  Tensors saved, write_gradients(test.write_specs.size());
  for (const int id : op.backward_reads) {
    saved.push_back((id < num_reads ? test.reads[id] : result.writes[id - num_reads]).clone());
  }
  write_gradients[0] = test.output_gradient.clone();
  std::vector<GradientOut> read_gradients, param_gradients;
  for (int i = 0; i < num_reads && test.has_input_gradient; ++i) {
    const auto& shared = op.shared_gradient_reads;
    if (std::find(shared.begin(), shared.end(), i) != shared.end()) {
      read_gradients.push_back({write_gradients[0].view(test.reads[i].sizes())});
    } else if (op.gradient_reuse && op.gradient_reuse->read == i && !options.accumulate) {
      read_gradients.push_back({saved[op.gradient_reuse->from]});
    } else {
      const at::Tensor& read = test.reads[i];
      read_gradients.push_back(new_gradient(read, read.scalar_type(), options.accumulate));
    }
  }
  for (size_t i = 0; i < test.params.size(); ++i) {
    const at::ScalarType dtype = accumulate_type(test.output_gradient.scalar_type());
    param_gradients.push_back(i < test.num_trained
                                  ? new_gradient(test.params[i], dtype, options.accumulate)
                                  : GradientOut{});
  }
  const NanScratch scratch(op.backward_scratch);
  kernel_of(op.kind, options.set)
      .backward(op, {saved, write_gradients, read_gradients, test.params, param_gradients,
                     scratch.block(), options.key});
  for (const GradientOut& out : read_gradients) result.read_gradients.push_back(out.tensor);
  for (const GradientOut& out : param_gradients) result.param_gradients.push_back(out.tensor);
  return result;
}

/// The op as a differentiable function of (reads, params); gives writes[0].
using Reference = std::function<at::Tensor(const Tensors& reads, const Tensors& params)>;

/// The same by autograd, in float64.
inline OpResult run_reference(const OpCase& test, const Reference& reference) {
  const auto widen = [](const Tensors& tensors) {
    Tensors wide;
    for (const at::Tensor& tensor : tensors) {
      wide.push_back(tensor.is_floating_point()
                         ? tensor.to(at::kDouble).clone().set_requires_grad(true)
                         : tensor);
    }
    return wide;
  };
  const Tensors reads = widen(test.reads), params = widen(test.params);
  const at::Tensor out = reference(reads, params);
  torch::autograd::backward({out}, {test.output_gradient.to(at::kDouble).view(out.sizes())});
  OpResult result{.writes = {out.detach()}};
  for (const at::Tensor& read : reads) result.read_gradients.push_back(read.grad());
  for (const at::Tensor& param : params) result.param_gradients.push_back(param.grad());
  return result;
}

/// Compares gradient `actual` with autograd's; undefined: the op has none there.
inline void expect_gradient(const at::Tensor& actual, const at::Tensor& expected, bool accumulated,
                            double limit) {
  if (!actual.defined()) return;
  ASSERT_TRUE(expected.defined());
  EXPECT_LE(relative_error(actual, accumulated ? expected + 1 : expected), limit);
}

/// Checks output and gradients of both kernel sets against autograd, `accumulate` off and on, and
/// that two threads give the fused kernel's bits. `slack` multiplies tolerance(dtype), for ops that
/// sum over many elements.
inline void expect_matches_autograd(const OpCase& test, const Reference& reference,
                                    double slack = 1) {
  const OpResult expected = run_reference(test, reference);
  const double limit = slack * tolerance(test.output_gradient.scalar_type());
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, accumulate {}", set == KernelSet::kFused ? "fused" : "plain",
                               accumulate));
      const OpResult actual = run_op(test, {.set = set, .accumulate = accumulate});
      EXPECT_LE(relative_error(actual.writes[0], expected.writes[0]), limit);
      const auto& shared = test.op.shared_gradient_reads;
      for (size_t i = 0; i < actual.read_gradients.size(); ++i) {
        SCOPED_TRACE(fmt::format("gradient of read {}", i));
        const bool in_place = std::find(shared.begin(), shared.end(), i) != shared.end();
        expect_gradient(actual.read_gradients[i], expected.read_gradients[i],
                        accumulate && !in_place, limit);
      }
      for (size_t i = 0; i < actual.param_gradients.size(); ++i) {
        SCOPED_TRACE(fmt::format("gradient of param {}", i));
        expect_gradient(actual.param_gradients[i], expected.param_gradients[i], accumulate, limit);
      }
    }
  }
  const OpResult one = run_op(test, {.threads = 1}), two = run_op(test, {.threads = 2});
  const auto expect_same = [](const Tensors& a, const Tensors& b) {
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << i;
  };
  expect_same(one.writes, two.writes);
  expect_same(one.read_gradients, two.read_gradients);
  expect_same(one.param_gradients, two.param_gradients);
}

}  // namespace refrain::engine
