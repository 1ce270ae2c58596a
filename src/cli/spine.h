// The spine of both executables: find the command, run it, turn how it ended into an exit code.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "cli/options.h"

namespace refrain::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;     // the world failed
inline constexpr int kExitFindings = 2;  // the user asked for the impossible
inline constexpr int kExitBug = 3;       // we were wrong

struct Subcommand {
  std::string_view name;
  std::string_view summary;                               // one line of `refrain --help`
  int (*run)(const std::vector<std::string>& arguments);  // those after the name; the exit code
};

/// Runs the subcommand that argv[1] names and returns the exit code. Tells Errors, Bugs and any
/// other exception on stderr; nothing leaves it.
int run_spine(std::string_view program, std::span<const Subcommand> subcommands, int argc,
              char** argv);

/// Writes to stdout; Error where that fails (a full disk, a closed pipe).
void print(std::string_view text);

/// Writes a file; `doing` ("writing the plan") says what for. Error where that fails.
void save(std::string_view doing, const std::string& path, std::string_view text);

/// Tells findings and notes on stderr.
void tell(const Findings& findings);

/// The exit code where the command line settles it: prints the help that was asked for, or tells
/// the findings that reject it. Otherwise nothing, and the options are there.
template <class Options>
std::optional<int> answer(const Parsed<Options>& parsed) {
  if (parsed.help) {
    print(*parsed.help);
    return kExitOk;
  }
  if (parsed.options.value) return std::nullopt;
  tell(parsed.options.findings);
  return kExitFindings;
}

}  // namespace refrain::cli
