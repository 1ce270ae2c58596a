#include "config/word.h"

#include <fmt/format.h>

#include "config/scan.h"

namespace refrain::config {
namespace {

/// Bytes of the control character that starts at `at`: one of ASCII's, or one of U+0080 to U+009F
/// in UTF-8; 0 where none does.
size_t control_size(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (byte(0) == '\n' || byte(0) == '\t') return 0;
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  return byte(0) == 0xc2 && at + 1 < text.size() && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

}  // namespace

std::string as_word(std::string_view text) {
  std::string quoted = in_quotes(text);
  return quoted == fmt::format("'{}'", text) ? std::string(text) : quoted;
}

std::string for_terminal(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t size = control_size(text, at);
    for (size_t i = 0; i < size; ++i) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at + i]));
    }
    if (size == 0) result += text[at];
    if (size == 2) ++at;
  }
  return result;
}

}  // namespace refrain::config
