#include "exchange.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>

#include "base/error.h"

namespace refrain::bench {
namespace {

/// Rows of one of our parameters that the peer has as a tensor of its own.
struct Piece {
  std::string peer;
  int64_t rows;
};

/// One row an op's parameter: its name within a layer, then the peer's pieces of it.
std::vector<Piece> pieces_of(const model::ParamSpec& spec, const config::ModelConfig& config) {
  const int64_t q = config.num_heads * config.head_dim;
  const int64_t kv = config.num_kv_heads * config.head_dim;
  const int64_t ffn = config.ffn_hidden;
  const struct {
    std::string_view ours;
    std::vector<Piece> peer;
  } table[] = {
      {"attn.qkv_proj.weight",
       {{"attn.q.weight", q}, {"attn.k.weight", kv}, {"attn.v.weight", kv}}},
      {"mlp.up_proj.weight", {{"mlp.gate.weight", ffn}, {"mlp.up.weight", ffn}}},
  };
  for (const auto& row : table) {
    if (!spec.name.ends_with(row.ours)) continue;
    const std::string layer = spec.name.substr(0, spec.name.size() - row.ours.size());
    std::vector<Piece> pieces = row.peer;
    for (Piece& piece : pieces) piece.peer.insert(0, layer);
    return pieces;
  }
  return {{spec.name, spec.shape[0]}};
}

/// Calls `visit` with the peer's name and our numbers for each of the peer's tensors.
template <class Visit>
void for_each_piece(Lanes& lanes, const std::vector<at::Tensor>& tensors, const Visit& visit) {
  const auto& specs = lanes.prepared({}).program.params.specs;
  for (size_t p = 0; p < specs.size(); ++p) {
    if (!specs[p].trained) continue;
    const int64_t row_size = model::numel(specs[p].shape) / specs[p].shape[0];
    const float* next = tensors[p].const_data_ptr<float>();
    for (const Piece& piece : pieces_of(specs[p], lanes.config())) {
      const int64_t size = piece.rows * row_size;
      visit(piece.peer, std::span<const float>(next, static_cast<size_t>(size)));
      next += size;
    }
    RC_CHECK(next == tensors[p].const_data_ptr<float>() + tensors[p].numel(), "{}", specs[p].name);
  }
}

template <class T>
void write(const std::filesystem::path& path, std::span<const T> numbers) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size_bytes()));
  file.close();
  if (!file) throw Error("{} could not be written", path.string());
}

std::vector<float> read(const std::filesystem::path& path, size_t count) {
  std::vector<float> numbers(count);
  const auto bytes = static_cast<std::streamsize>(count * sizeof(float));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(numbers.data()), bytes);
  if (file.gcount() != bytes || file.peek() != std::ifstream::traits_type::eof()) {
    throw Error("{} must hold {} bytes", path.string(), bytes);
  }
  return numbers;
}

/// Not a number wherever one of the numbers is not.
double relative_error(std::span<const float> ours, std::span<const float> peer) {
  double difference = 0;
  double largest = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double d = std::abs(static_cast<double>(ours[i]) - static_cast<double>(peer[i]));
    if (std::isnan(d)) return d;
    difference = std::max(difference, d);
    largest = std::max(largest, std::abs(static_cast<double>(peer[i])));
  }
  return difference / largest;
}

}  // namespace

void dump(Lanes& lanes, const std::filesystem::path& folder) {
  for_each_piece(lanes, lanes.weights().weight,
                 [&](const std::string& name, std::span<const float> numbers) {
                   write(folder / name, numbers);
                 });
  write(folder / "tokens", std::span<const int32_t>(lanes.tokens()));
  write(folder / "targets", std::span<const int32_t>(lanes.targets()));
}

std::vector<Difference> compare_gradients(Lanes& lanes, const std::filesystem::path& folder) {
  std::vector<Difference> differences;
  for_each_piece(lanes, lanes.weights().first_moment,
                 [&](const std::string& name, std::span<const float> ours) {
                   const std::vector<float> peer = read(folder / name, ours.size());
                   differences.push_back({name, relative_error(ours, peer)});
                 });
  std::sort(differences.begin(), differences.end(), [](const Difference& a, const Difference& b) {
    return std::isnan(a.error) > std::isnan(b.error) || a.error > b.error;
  });
  return differences;
}

}  // namespace refrain::bench
