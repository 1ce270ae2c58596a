// A check's report, for people and for programs.
#pragma once

#include <string>

#include "config/check/check.h"

namespace refrain::cli {

/// A value as people write it: "text" in quotes, null, numbers, lists; broken bytes replaced.
std::string written(const config::Value& value);

/// What a knob may hold, and its default in the newest release.
std::string legal_of(const config::Knob& knob);
std::string default_of(const config::Knob& knob);

/// Verdict, findings with their ways out, what the setting comes to on every rank; with
/// `effective`, every knob that is not at its default or was changed, and where it comes from.
std::string text_of(const config::CheckReport& report, bool effective);

/// The same as one JSON object: `dialect, verdict, findings, effective, sources,
/// resolved`; remedies are those that were checked.
std::string json_of(const config::CheckReport& report);

}  // namespace refrain::cli
