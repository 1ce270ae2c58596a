// Any bytes as a number, an amount of memory, a list, and as what a message quotes.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/scan.h"

namespace {

using namespace refrain;
using namespace refrain::config;

void scan_whole(std::string_view text) {
  const std::optional<int64_t> whole = parse_whole(text);
  const std::optional<uint64_t> positive = parse_unsigned(text);
  if (whole) RC_CHECK(parse_whole(std::to_string(*whole)) == whole, "{}", *whole);
  if (positive) RC_CHECK(parse_unsigned(std::to_string(*positive)) == positive, "{}", *positive);
  if (whole && positive) RC_CHECK(std::cmp_equal(*whole, *positive), "{}, {}", *whole, *positive);
}

void scan_bytes(std::string_view text) {
  constexpr int64_t kMost = int64_t{1} << 62;
  const std::optional<Bytes> amount = parse_bytes(text);
  RC_CHECK(amount == parse_bytes(" \t" + std::string(text) + "\n"), "{}", text);
  if (const auto whole = parse_whole(text)) {
    const bool holds = *whole >= 1 && *whole <= kMost;
    RC_CHECK(amount == (holds ? std::optional(Bytes(*whole)) : std::nullopt), "{}", text);
  }
  if (!amount) return;
  RC_CHECK(*amount >= Bytes(1) && *amount <= Bytes(kMost), "{}: {}", text, amount->count());
  for (const char* unit : {"", "B", " B"}) {
    RC_CHECK(parse_bytes(std::to_string(amount->count()) + unit) == amount, "{}", text);
  }
}

void scan_list(std::string_view text) {
  const std::vector<std::string> pieces = split(text, ',');
  RC_CHECK(std::ranges::count(text, ',') + 1 == std::ssize(pieces), "{}", text);
  for (const std::string& piece : pieces) RC_CHECK(trimmed(piece) == piece, "{}", piece);
  RC_CHECK(split(joined(pieces, ","), ',') == pieces, "{}", text);
}

void quote(std::string_view text) {
  const std::string quoted = in_quotes(text);
  RC_CHECK(quoted.size() <= 4 * 120 + 5, "{}", quoted.size());  // of 120 bytes, each as \xNN
  RC_CHECK(std::ranges::all_of(quoted, [](char c) { return c >= ' ' && c <= '~'; }), "{}", quoted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  scan_whole(text);
  scan_bytes(text);
  scan_list(text);
  quote(text);
  return 0;
}
