// Rotary position embedding (Su et al. 2021, section 3.2.2), with the pairing of Hugging Face's
// Llama: element i of a head's first half turns with element i of its second half, by the angle of
// the token's position and i. In place; backward turns the gradient back.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel_list.h"
#include "engine/numerics/dispatch.h"
#include "engine/numerics/parallel.h"

namespace refrain::engine {
namespace {

const model::RopeAttributes& attributes_of(const model::Op& op) {
  return std::get<model::RopeAttributes>(op.attributes);
}

/// Turns the first num_rotated heads of x [T, heads, d] in place, by `direction` (1 or -1) times
/// the angles of the table [2, s, d/2], cos then sin.
template <class Storage>
void rotate(const model::RopeAttributes& rope, const at::Tensor& x, const at::Tensor& table,
            int direction) {
  using Real = Accumulate<Storage>;
  const int64_t half = rope.head_dim / 2;
  const int64_t token_stride = x.size(1) * rope.head_dim;
  const Real* cos_rows = const_pointer<Real>(table);
  const Real* sin_rows = cos_rows + rope.seq * half;
  const Real sign = static_cast<Real>(direction);
  Storage* tokens = pointer<Storage>(x);

  const auto rotate_token = [=, num_rotated = rope.num_rotated, seq = rope.seq](int64_t token) {
    const Real* cos = cos_rows + token % seq * half;
    const Real* sin = sin_rows + token % seq * half;
    for (int64_t head = 0; head < num_rotated; ++head) {
      Storage* first = tokens + token * token_stride + head * 2 * half;
      Storage* second = first + half;
#pragma omp simd
      for (int64_t i = 0; i < half; ++i) {
        const Real a = load(first[i]), b = load(second[i]);
        first[i] = round_to<Storage>(a * cos[i] - b * (sign * sin[i]));
        second[i] = round_to<Storage>(b * cos[i] + a * (sign * sin[i]));
      }
    }
  };
  parallel_rows(x.size(0), row_grain(token_stride), [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) rotate_token(token);
  });
}

void fused(const model::Op& op, const at::Tensor& x, const at::Tensor& table, int direction) {
  dispatch(x.scalar_type(),
           [&]<class Storage>() { rotate<Storage>(attributes_of(op), x, table, direction); });
}

void plain(const model::Op& op, const at::Tensor& x, const at::Tensor& table, int direction) {
  const model::RopeAttributes& rope = attributes_of(op);
  const int64_t half = rope.head_dim / 2;
  const at::Tensor rotated = x.narrow(1, 0, rope.num_rotated);
  const at::Tensor wide =
      rotated.to(table.scalar_type()).reshape({-1, rope.seq, rope.num_rotated, rope.head_dim});
  const at::Tensor cos = table.select(0, 0).unsqueeze(1);
  const at::Tensor sin = table.select(0, 1).unsqueeze(1) * direction;
  const at::Tensor a = wide.narrow(-1, 0, half), b = wide.narrow(-1, half, half);
  rotated.copy_(at::cat({a * cos - b * sin, b * cos + a * sin}, -1).view(rotated.sizes()));
}

using Rotate = void (*)(const model::Op&, const at::Tensor&, const at::Tensor&, int);

template <Rotate kRotate>
void forward(const model::Op& op, const ForwardArgs& args) {
  check_shared(args.writes[0], args.reads[0]);
  kRotate(op, args.writes[0], args.params[0], 1);
}

template <Rotate kRotate>
void backward(const model::Op& op, const BackwardArgs& args) {
  check_shared(args.write_gradients[0], args.read_gradients[0].tensor);
  kRotate(op, args.write_gradients[0], args.params[0], -1);
}

}  // namespace

Kernel rope_kernel(KernelSet set) {
  return set == KernelSet::kFused ? Kernel{forward<fused>, backward<fused>}
                                  : Kernel{forward<plain>, backward<plain>};
}

}  // namespace refrain::engine
