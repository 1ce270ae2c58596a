#include "engine/weights.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "engine/memory/counting_allocator.h"
#include "engine/numerics/parallel.h"
#include "engine/numerics/philox.h"

namespace refrain::engine {
namespace {

// Streams of weights stand apart from dropout's, whose step number never reaches the top bits.
constexpr uint64_t kWeightStream = uint64_t{0xffff} << 48;

/// Standard normal number `index` of a stream, by Box and Muller's transform of Philox bits.
double normal(const DropoutKey& key, uint64_t index) {
  const auto bits =
      philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
              static_cast<uint32_t>(key.stream), static_cast<uint32_t>(key.stream >> 32)},
             {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
  const double u1 = (static_cast<double>(bits[0]) + 1.0) / 4294967297.0;
  const double u2 = static_cast<double>(bits[1]) / 4294967296.0;
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2);
}

/// Cosines, then sines, of position / base^(2i/d) (Su et al., "RoFormer", 2021, equation 15).
double rope_entry(const model::ParamSpec& spec, int64_t index) {
  const int64_t half = spec.shape[2];
  const int64_t position = index / half % spec.shape[1];
  const double exponent = static_cast<double>(index % half) / static_cast<double>(half);
  const double angle = static_cast<double>(position) * std::pow(spec.rope_base, -exponent);
  return index < spec.shape[1] * half ? std::cos(angle) : std::sin(angle);
}

double initial(const model::ParamSpec& spec, const DropoutKey& key, int64_t index) {
  switch (spec.init) {
    case model::Init::kNormal:
      return spec.init_std * normal(key, static_cast<uint64_t>(index));
    case model::Init::kOnes:
      return 1;
    case model::Init::kZeros:
      return 0;
    case model::Init::kRopeTable:
      return rope_entry(spec, index);
  }
  RC_CHECK(false, "init {}", static_cast<int>(spec.init));
}

template <class T>
void fill(const at::Tensor& tensor, const model::ParamSpec& spec, const DropoutKey& key) {
  constexpr int64_t kGrain = 4096;
  T* data = tensor.mutable_data_ptr<T>();
  parallel_rows(tensor.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(initial(spec, key, i));
  });
}

void fill(const at::Tensor& tensor, const model::ParamSpec& spec, const DropoutKey& key) {
  tensor.scalar_type() == at::kDouble ? fill<double>(tensor, spec, key)
                                      : fill<float>(tensor, spec, key);
}

std::vector<at::Tensor>& column(Weights& weights, program::ValueKind kind) {
  switch (kind) {
    case program::ValueKind::kParameter:
    case program::ValueKind::kTable:
      return weights.weight;
    case program::ValueKind::kMaster:
      return weights.master;
    case program::ValueKind::kFirstMoment:
      return weights.first_moment;
    case program::ValueKind::kSecondMoment:
      return weights.second_moment;
    default:
      RC_CHECK(false, "not a resident: {}", static_cast<int>(kind));
  }
}

}  // namespace

at::ScalarType scalar_type(model::DType dtype) {
  switch (dtype) {
    case model::DType::kF32:
      return at::kFloat;
    case model::DType::kBF16:
      return at::kBFloat16;
    case model::DType::kF64:
      return at::kDouble;
    case model::DType::kI32:
      return at::kInt;
  }
  RC_CHECK(false, "dtype {}", static_cast<int>(dtype));
}

at::Tensor allocate(const program::Value& value) {
  const AccountScope scope(value.account);
  return at::empty(value.shape, at::TensorOptions(scalar_type(value.dtype)));
}

const at::Tensor& resident(const Weights& weights, const program::Value& value) {
  return column(const_cast<Weights&>(weights), value.kind).at(value.param);
}

Weights init_weights(const program::Program& program, uint64_t seed) {
  const size_t num_params = program.params.specs.size();
  Weights weights{std::vector<at::Tensor>(num_params), std::vector<at::Tensor>(num_params),
                  std::vector<at::Tensor>(num_params), std::vector<at::Tensor>(num_params)};
  for (program::ValueId v : program.residents) {
    const program::Value& value = program.values[v];
    column(weights, value.kind)[value.param] = allocate(value);
  }
  for (size_t p = 0; p < num_params; ++p) {
    const at::Tensor& master = weights.master[p].defined() ? weights.master[p] : weights.weight[p];
    fill(master, program.params.specs[p], {seed, kWeightStream + p});
    if (weights.master[p].defined()) weights.weight[p].copy_(master);
    for (at::Tensor* moment : {&weights.first_moment[p], &weights.second_moment[p]}) {
      if (moment->defined()) moment->zero_();
    }
  }
  return weights;
}

}  // namespace refrain::engine
