// Random input that looks like what people type: pieces of it in any order, the same every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace refrain::config {

class RandomPieces {
 public:
  RandomPieces(uint32_t seed, std::vector<std::string> pieces);

  size_t below(size_t end);
  const std::string& piece();
  /// Up to `most` pieces.
  std::vector<std::string> words(size_t most);
  /// The same without gaps; every 16th is any byte instead.
  std::string text(size_t most);

 private:
  std::mt19937 random_;
  std::vector<std::string> pieces_;
};

}  // namespace refrain::config
