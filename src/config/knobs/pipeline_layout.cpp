#include "config/knobs/pipeline_layout.h"

#include <algorithm>

#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostSymbols = 100000;

class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : text_(text) {}

  /// The letters with every repetition written out; nothing where the text is malformed.
  std::optional<std::string> expanded() {
    std::string all = sequence();
    return at_ == text_.size() && sound_ ? std::optional(std::move(all)) : std::nullopt;
  }

 private:
  std::string sequence() {
    std::string result;
    while (sound_ && at_ < text_.size() && text_[at_] != ')') {
      std::string piece = item();
      result += repeated(std::move(piece));
      if (result.size() > kMostSymbols) sound_ = false;
    }
    return result;
  }

  std::string item() {
    const char letter = text_[at_++];
    if (letter == '(') {
      if (++depth_ > 16) sound_ = false;
      std::string inner = sequence();
      if (at_ >= text_.size()) sound_ = false;
      if (sound_) ++at_;  // the closing one
      --depth_;
      return inner;
    }
    if (std::string_view("EtmL|").find(letter) == std::string_view::npos) sound_ = false;
    return {letter};
  }

  std::string repeated(std::string piece) {
    if (at_ >= text_.size() || text_[at_] != '*') return piece;
    size_t end = ++at_;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
    const auto times = parse_whole(text_.substr(at_, end - at_));
    at_ = end;
    if (!times || static_cast<size_t>(*times) * piece.size() > kMostSymbols) {
      sound_ = false;
      return {};
    }
    std::string result;
    for (int64_t i = 0; i < *times; ++i) result += piece;
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  bool sound_ = true;
};

}  // namespace

std::optional<std::vector<std::string>> layout_stages(std::string_view text) {
  std::string plain(text);
  std::erase(plain, ',');
  const auto letters = LayoutReader(plain).expanded();
  if (!letters) return std::nullopt;
  return split(*letters, '|');
}

}  // namespace refrain::config
