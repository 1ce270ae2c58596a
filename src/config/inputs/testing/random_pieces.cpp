#include "config/inputs/testing/random_pieces.h"

#include <utility>

namespace refrain::config {

RandomPieces::RandomPieces(uint32_t seed, std::vector<std::string> pieces)
    : random_(seed), pieces_(std::move(pieces)) {}

size_t RandomPieces::below(size_t end) { return random_() % end; }

const std::string& RandomPieces::piece() { return pieces_[below(pieces_.size())]; }

std::vector<std::string> RandomPieces::words(size_t most) {
  std::vector<std::string> words;
  for (size_t n = below(most + 1); n > 0; --n) words.push_back(piece());
  return words;
}

std::string RandomPieces::text(size_t most) {
  std::string text;
  for (size_t n = below(most + 1); n > 0; --n) {
    if (below(16) == 0) {
      text += static_cast<char>(below(256));
    } else {
      text += piece();
    }
  }
  return text;
}

}  // namespace refrain::config
