#include "mcore/memory/ops/linear.h"

#include <string>
#include <vector>

namespace refrain::mcore::memory {
namespace {

std::string account(std::string_view prefix, std::string_view name) {
  return std::string(prefix).append(name);
}

std::vector<Storage> statistics(Pass& pass, int64_t rows, std::string_view name) {
  std::vector<Storage> statistics;
  for (int i = 0; i < (pass.run.model.rms_norm ? 1 : 2); ++i) {
    statistics.push_back(pass.memory.allocate(rows * 4, account("saved/statistics of ", name)));
  }
  return statistics;
}

/// The copy that a low-precision GEMM reads instead of `bytes` of a tensor; else nothing.
Storage low_precision_copy(const Pass& pass, int64_t bytes, std::string_view account) {
  if (!quantizes(pass.run)) return nullptr;
  return pass.memory.allocate(
      low_precision_bytes(pass.run.numerics.gemms, bytes / pass.sizes.element), account);
}

/// What a linear keeps of its input for the weight gradient.
Storage kept_input(const Pass& pass, const Tensor& x, const Linear& linear) {
  if (!quantizes(pass.run) || linear.keeps_original) return x.storage;
  return low_precision_copy(pass, x.bytes(), "saved/low-precision inputs");
}

/// The bytes of a sequence-parallel part once it is gathered, or 0 where nothing is split.
int64_t gathered_bytes(const Pass& pass, int64_t part) {
  return pass.sequence_split() ? part * pass.tensor() : 0;
}

/// In a split region, a gathered gradient is summed and scattered to this rank's part.
Storage scattered(const Pass& pass, const Storage& whole) {
  if (!pass.sequence_split()) return whole;
  return pass.memory.allocate(whole->bytes() / pass.tensor(), "gradient/scattered");
}

/// The backward of a column-parallel linear from `incoming` to its input's gradient.
Storage column_backward(const Pass& pass, Storage incoming, const Linear& linear) {
  Storage gathered = pass.sequence_split()
                         ? pass.memory.allocate(pass.sizes.rows(linear.in), "temporary/gathered")
                         : nullptr;
  pass.caches.linear(Thread::kBackward);
  Storage gradient =
      pass.memory.allocate(pass.sizes.rows(linear.in), account("gradient/input of ", linear.name));
  // The scatter is under way while the weight gradient is computed.
  Storage part = scattered(pass, gradient);
  pass.caches.weight_gradients({linear.out, linear.in});
  incoming.reset();
  gathered.reset();
  return part;
}

/// The GEMM of a column-parallel linear, with what it gathers.
Storage column_forward(Pass& pass, const Tensor& x, const Linear& linear) {
  const Storage gathered =
      pass.memory.allocate(gathered_bytes(pass, x.bytes()), "temporary/gathered");
  pass.caches.linear(Thread::kForward);
  return pass.memory.allocate(pass.sizes.rows(linear.out), account("saved/", linear.name));
}

}  // namespace

Tensor norm(Pass& pass, const Tensor& x, int64_t rows, std::string_view name) {
  std::vector<Storage> kept = statistics(pass, rows, name);
  Tensor out{pass.memory.allocate(x.bytes(), account("saved/output of ", name))};
  kept.push_back(x.storage);
  pass.graph->record(
      std::move(kept),
      [pass, bytes = x.bytes(), from = out.gradient, to = x.gradient]() -> Gradients {
        Storage incoming = take(from);
        Storage gradient = pass.memory.allocate(bytes, "gradient/norm");
        incoming.reset();
        return {{to, std::move(gradient)}};
      });
  return out;
}

Tensor column_linear(Pass& pass, const Tensor& x, const Linear& linear) {
  Tensor out{column_forward(pass, x, linear)};
  pass.graph->record({kept_input(pass, x, linear)},
                     [pass, linear, from = out.gradient, to = x.gradient]() -> Gradients {
                       return {{to, column_backward(pass, take(from), linear)}};
                     });
  return out;
}

Tensor norm_and_linear(Pass& pass, const Tensor& x, const Linear& linear) {
  std::vector<Storage> kept = statistics(pass, pass.sizes.region_tokens, linear.name);
  const Tensor normed{pass.memory.allocate(x.bytes(), account("saved/norm before ", linear.name))};
  Tensor out{column_forward(pass, normed, linear)};
  kept.push_back(kept_input(pass, normed, linear));
  kept.push_back(x.storage);
  pass.graph->record(
      std::move(kept),
      [pass, linear, bytes = x.bytes(), from = out.gradient, to = x.gradient]() -> Gradients {
        Storage after_norm = column_backward(pass, take(from), linear);
        Storage gradient = pass.memory.allocate(bytes, "gradient/norm");
        after_norm.reset();
        return {{to, std::move(gradient)}};
      });
  return out;
}

Tensor row_linear(Pass& pass, const Tensor& x, const Linear& linear) {
  pass.caches.linear(Thread::kForward);
  Storage result =
      pass.memory.allocate(pass.sizes.rows(linear.out), account("temporary/", linear.name));
  if (pass.sequence_split()) {
    result = pass.memory.allocate(pass.sizes.region_tokens * linear.out * pass.sizes.element,
                                  account("temporary/", linear.name));
  }
  Tensor out{std::move(result)};
  pass.graph->record(
      {kept_input(pass, x, linear)},
      [pass, linear, bytes = x.bytes(), from = out.gradient, to = x.gradient]() -> Gradients {
        Storage incoming = take(from);
        Storage gathered =
            pass.memory.allocate(gathered_bytes(pass, from->bytes), "temporary/gathered");
        pass.caches.linear(Thread::kBackward);
        Storage gradient = pass.memory.allocate(bytes, account("gradient/input of ", linear.name));
        pass.caches.weight_gradients({linear.out, linear.in});
        gathered.reset();
        incoming.reset();
        return {{to, std::move(gradient)}};
      });
  return out;
}

Tensor whole_linear(Pass& pass, const Tensor& x, const Linear& linear) {
  pass.caches.linear(Thread::kForward);
  const int64_t rows = x.bytes() / (linear.in * pass.sizes.element);
  Tensor out{
      pass.memory.allocate(rows * linear.out * pass.sizes.element, account("saved/", linear.name))};
  pass.graph->record(
      {kept_input(pass, x, linear)},
      [pass, linear, bytes = x.bytes(), from = out.gradient, to = x.gradient]() -> Gradients {
        Storage incoming = take(from);
        Storage gradient = pass.memory.allocate(bytes, account("gradient/input of ", linear.name));
        pass.caches.weight_gradients({linear.out, linear.in});
        incoming.reset();
        return {{to, std::move(gradient)}};
      });
  return out;
}

}  // namespace refrain::mcore::memory
