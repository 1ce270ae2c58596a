#include "config/inputs/values/reading.h"

#include <fmt/format.h>

#include "config/scan.h"

namespace refrain::config {
namespace {

/// One row of RFC 3629's table of well-formed byte sequences: lead bytes, how many bytes follow,
/// and the bounds of the first of them (all others are 80 to BF).
struct LeadBytes {
  unsigned char first, last;
  size_t following;
  unsigned char lower, upper;
};
constexpr LeadBytes kLeadBytes[] = {
    {0x01, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
    {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

/// Bytes of the character that starts at `at`; 0 where none does.
size_t character_size(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  for (const LeadBytes& row : kLeadBytes) {
    if (byte(0) < row.first || byte(0) > row.last) continue;
    if (at + row.following >= text.size()) return 0;
    for (size_t i = 1; i <= row.following; ++i) {
      const unsigned char lower = i == 1 ? row.lower : 0x80;
      const unsigned char upper = i == 1 ? row.upper : 0xbf;
      if (byte(i) < lower || byte(i) > upper) return 0;
    }
    return row.following + 1;
  }
  return 0;
}

}  // namespace

std::optional<size_t> first_bad_byte(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_size(text, at);
    if (size == 0) return at;
    at += size;
  }
  return {};
}

std::optional<Finding> not_text(const Reading& reading) {
  const auto bad = first_bad_byte(reading.typed);
  if (!bad) return {};
  return Finding{fmt::format("{}.not-text", reading.family),
                 fmt::format("text must be UTF-8 without NUL bytes: byte {} of {} is not", *bad + 1,
                             in_quotes(reading.typed)),
                 "type it again, or leave it out"};
}

}  // namespace refrain::config
