// The file that a published model comes with: config.json, as JSON and nothing more.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/finding.h"

namespace refrain::config {

/// The text of a regular file of 16 MiB at most. Findings: `model.no-such-file`,
/// `.is-a-directory`, `.not-a-file`, `.file-too-large`, `.unreadable-file`.
Checked<std::string> read_model_text(const std::string& path);

/// The object that the text holds. Findings: `model.broken-json`, `model.not-an-object`; `name` is
/// the file's, for them.
Checked<nlohmann::json> parse_model_text(std::string_view text, const std::string& name);

}  // namespace refrain::config
