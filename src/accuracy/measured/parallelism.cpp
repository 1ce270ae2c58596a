#include "accuracy/measured/parallelism.h"

#include <algorithm>
#include <string>
#include <vector>

#include "config/scan.h"

namespace refrain::accuracy {
namespace {

constexpr int64_t kMostRanks = 1 << 12;

/// A number from 1 on, within reason; nothing for n/a.
struct Size {
  bool readable = false;
  std::optional<int64_t> number;
};

Size size_of(std::string_view text) {
  if (text == "n/a") return {.readable = true};
  const auto number = config::parse_whole(text);
  const bool sound = number && *number >= 1 && *number <= kMostRanks;
  return {.readable = sound, .number = sound ? number : std::nullopt};
}

bool take_word(std::string_view word, Parallelism& made) {
  constexpr std::string_view kSaysNothing[] = {"", "SP", "alltoall", "FSDP0"};
  if (std::find(std::begin(kSaysNothing), std::end(kSaysNothing), word) != std::end(kSaysNothing)) {
    return true;
  }
  if (word.starts_with("FSDP")) {
    made.fsdp = true;
    return word == "FSDP" || size_of(word.substr(4)).readable;
  }
  const size_t digits = std::min(word.size(), word.find_first_of("0123456789n"));
  const std::string_view name = word.substr(0, digits);
  const Size size = size_of(word.substr(digits));
  if (!size.readable) return false;
  const int64_t number = size.number.value_or(1);
  if (name == "TP") return made.tensor = number, true;
  if (name == "PP") return made.pipeline = number, true;
  if (name == "VP" || name == "VPP") return made.virtual_stages = number, true;
  if (name == "CP") return made.context = number, true;
  if (name == "EP") return made.expert = number, true;
  if (name == "ETP") return made.expert_tensor = size.number, true;
  if (name == "DP") return made.data = size.number, true;
  return name == "EDP";  // follows from the others
}

}  // namespace

std::optional<Parallelism> parse_parallelism(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), ' ', '_');
  Parallelism made;
  for (const std::string& word : config::split(plain, '_')) {
    if (!take_word(word, made)) return std::nullopt;
  }
  return made;
}

}  // namespace refrain::accuracy
