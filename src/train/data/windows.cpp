#include "train/data/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"

namespace refrain::train {
namespace {

constexpr int64_t kHeldOutOneIn = 20;

// Far apart, so that no epoch's key is near the split's whatever the seed.
constexpr uint64_t kSplitStream = 0xA0761D6478BD642F;
constexpr uint64_t kEpochStream = 0xE7037ED1A0B428DB;

uint64_t make_key(uint64_t seed, uint64_t stream) { return mix(mix(seed) ^ stream); }

}  // namespace

Windows::Windows(Corpus corpus, int64_t seq, uint64_t seed)
    : corpus_(std::move(corpus)),
      seq_(seq),
      seed_(seed),
      split_(corpus_.size() / (seq + 1), make_key(seed, kSplitStream)),
      num_held_out_(std::max<int64_t>(1, split_.size() / kHeldOutOneIn)) {
  RC_CHECK(seq >= 1 && num_train() >= 1, "seq {}, {} bytes", seq, corpus_.size());
}

void Windows::train(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets) const {
  RC_CHECK(index >= 0, "{}", index);
  const auto epoch = static_cast<uint64_t>(index / num_train());
  const Permutation order(num_train(), make_key(seed_, kEpochStream + epoch));
  read(split_(order(index % num_train())), tokens, targets);
}

void Windows::held_out(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets) const {
  RC_CHECK(index >= 0 && index < num_held_out_, "{} of {}", index, num_held_out_);
  read(split_(num_train() + index), tokens, targets);
}

void Windows::train(const MicroBatch& place, std::span<int32_t> tokens,
                    std::span<int32_t> targets) const {
  RC_CHECK(std::ssize(tokens) == place.size * seq_ && tokens.size() == targets.size(),
           "{} and {} for {} windows of {}", tokens.size(), targets.size(), place.size, seq_);
  for (int64_t row = 0; row < place.size; ++row) {
    train(place.first() + row, tokens.subspan(row * seq_, seq_), targets.subspan(row * seq_, seq_));
  }
}

void Windows::read(int64_t window, std::span<int32_t> tokens, std::span<int32_t> targets) const {
  RC_CHECK(std::ssize(tokens) == seq_ && std::ssize(targets) == seq_, "{} and {} for {}",
           tokens.size(), targets.size(), seq_);
  std::vector<std::byte> bytes(seq_ + 1);
  corpus_.read(window * (seq_ + 1), bytes);
  for (int64_t i = 0; i < seq_; ++i) {
    tokens[i] = std::to_integer<int32_t>(bytes[i]);
    targets[i] = std::to_integer<int32_t>(bytes[i + 1]);
  }
}

Checked<Windows> make_windows(Corpus corpus, int64_t seq, uint64_t seed) {
  RC_CHECK(seq >= 1, "{}", seq);
  const int64_t needed = 2 * (seq + 1);
  if (corpus.size() < needed) {
    return Checked<Windows>::reject(
        {{"data.too-small",
          fmt::format("the corpus must have at least {} bytes at sequence length {}, one window to "
                      "train on and one to hold out: {}",
                      needed, seq, corpus.size()),
          corpus.size() < 4
              ? std::string("give --data more text")
              : fmt::format("--seq {} or less, or give --data more text", corpus.size() / 2 - 1)}});
  }
  return Checked<Windows>::accept(Windows(std::move(corpus), seq, seed));
}

}  // namespace refrain::train
