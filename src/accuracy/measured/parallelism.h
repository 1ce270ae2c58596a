// How published tables write a parallel layout: "TP4_PP8_CP1_VP4_EP64".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace refrain::accuracy {

/// What a text says; 1 or false where it is silent. Sizes of 0 do not occur.
struct Parallelism {
  int64_t tensor = 1, pipeline = 1, virtual_stages = 1, context = 1, expert = 1;
  std::optional<int64_t> expert_tensor, data;
  bool fsdp = false;
};

/// Reads words between blanks and "_": a name and a number or n/a, SP, FSDP, or a dispatcher. VP
/// and VPP are the same. Nothing where another word is in it, such as the two layouts of
/// "TP1 (2)_PP1 (4)" or of an encoder and a decoder.
std::optional<Parallelism> parse_parallelism(std::string_view text);

}  // namespace refrain::accuracy
