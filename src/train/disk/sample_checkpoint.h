// Checkpoints for tests, whose every byte follows from their step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "train/disk/checkpoint.h"

namespace refrain::train {

/// Two weights and twice as much optimizer state; `num_elements` floats in the larger weight.
class SampleCheckpoint {
 public:
  explicit SampleCheckpoint(int64_t step, int64_t num_elements = 300) {
    state_ = {.step = step,
              .seed = 42,
              .model = {{"hidden", "64"}, {"name", "sample"}},
              .settings = {{"lr", "0.1"}}};
    uint32_t value = static_cast<uint32_t>(step) * 2654435761u;
    for (const std::string name : {"up", "norm"}) {
      const int64_t count = name == "up" ? num_elements : 5;
      weights_.push_back(make_tensor(name, count, value));
      optimizer_.push_back(make_tensor(name + ".m", count, value));
      optimizer_.push_back(make_tensor(name + ".v", count, value));
    }
  }

  CheckpointView view() const { return {state_, weights_, optimizer_}; }

  /// Is it this one, to the last byte?
  bool equals(const Checkpoint& loaded) const {
    return loaded.state == state_ && equal(weights_, loaded.weights) &&
           equal(optimizer_, loaded.optimizer);
  }

 private:
  // Random words, which large tensors repeat: making one must cost less than saving it.
  NamedTensor make_tensor(std::string name, int64_t count, uint32_t& value) {
    std::vector<uint32_t> words(std::min<int64_t>(count, 4099));
    for (uint32_t& word : words) word = value = value * 1664525u + 1013904223u;
    auto& bytes = storage_.emplace_back(count * sizeof(uint32_t));
    for (size_t done = 0; done < bytes.size();) {
      const size_t size = std::min(bytes.size() - done, words.size() * sizeof(uint32_t));
      std::memcpy(bytes.data() + done, words.data(), size);
      done += size;
    }
    return {std::move(name), StoredType::kF32, {1, count}, bytes};
  }

  static bool equal(const std::vector<NamedTensor>& expected, const SafetensorsFile& file) {
    return file.tensors().size() == expected.size() &&
           std::ranges::all_of(expected, [&](const NamedTensor& tensor) {
             const NamedTensor* stored = file.find(tensor.name);
             return stored && stored->type == tensor.type && stored->shape == tensor.shape &&
                    stored->bytes.size() == tensor.bytes.size() &&
                    std::memcmp(stored->bytes.data(), tensor.bytes.data(), tensor.bytes.size()) ==
                        0;
           });
  }

  TrainState state_;
  std::vector<std::vector<std::byte>> storage_;  // a moved vector keeps its elements in place
  std::vector<NamedTensor> weights_, optimizer_;
};

/// The names in a folder, sorted.
inline std::vector<std::string> names_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace refrain::train
