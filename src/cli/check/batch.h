// `refrain check --batch`: one configuration a line in, one verdict a line out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/knobs/dialect.h"

namespace refrain::cli {

/// Judges one line: a JSON object with `kwargs`, optionally `id`, `version` ("0.19.2"), `class`
/// (MLATransformerConfig means multi_latent_attention), `with_te` and `te_version`. `dialect`
/// decides where it is given, else the line's version, else Refrain judges. Answers a JSON object
/// with `id, dialect, verdict, error_type, error, effective, changed, findings`, an error_type only
/// where it is known what a release raises; a line that cannot be read gets the verdict "invalid"
/// and what is wrong with it.
std::string judge_line(std::string_view line, std::optional<config::Dialect> dialect);

}  // namespace refrain::cli
