// What a plain word in a YAML file is to the programs that read such files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/knobs/assignment.h"

namespace refrain::config {

struct PlainScalar {
  /// A rule's name without its family, what must hold, and what to do.
  struct Remark {
    std::string_view rule;
    std::string message, remedy;
  };

  Value value;       // nothing else than null stands for null here: the parser knows that one
  bool fits = true;  // false for a number beyond 64 bits
  std::optional<Remark> remark;
};

/// Types a word by YAML 1.1 as PyYAML does, and by OmegaConf's floats: yes and no are true and
/// false, 010 is eight, 1_000 a thousand, 1:30 ninety, 1e3 a real number. Text that looks like
/// something else, and numbers that do, have a remark: `text-not-meant`, `number-not-meant`.
PlainScalar plain_scalar(const std::string& text);

}  // namespace refrain::config
