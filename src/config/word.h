// What users and their files called something, as it may stand in output.
#pragma once

#include <string>
#include <string_view>

namespace refrain::config {

/// `text` as it stands where it is short and printable, else in quotes (in_quotes of scan.h).
std::string as_word(std::string_view text);

/// `text` with the control characters that a terminal would act on as \xNN; newlines and tabs stay.
std::string for_terminal(std::string_view text);

}  // namespace refrain::config
