#include "cli/spine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/error.h"
#include "base/text_file.h"
#include "base/version.h"
#include "config/scan.h"
#include "config/word.h"

namespace refrain::cli {
namespace {

std::string help_of(std::string_view program, std::span<const Subcommand> subcommands) {
  std::string text = fmt::format(
      "{0} {1}: activation recompute for transformer training\n\n"
      "Usage: {0} COMMAND [FLAGS]\n"
      "       {0} COMMAND --help | --help | --version\n\nCommands:\n",
      program, version());
  for (const Subcommand& command : subcommands) {
    text += fmt::format("  {:<8}  {}\n", command.name, command.summary);
  }
  return text +
         "\nExamples:\n"
         "  refrain models\n"
         "  refrain ledger --model llama3-8b --seq 4096 --micro-batch 1 --dtype bf16\n"
         "  refrain train --model llama-15m --recompute selective:pointwise\n"
         "  refrain bench --model llama-15m --settings 'none;selective:mlp;full:uniform:1'\n"
         "\nExit codes: 0 done, 1 something failed, 2 findings about what was asked, "
         "3 a bug in Refrain\n";
}

int complain(Finding finding) {
  tell({std::move(finding)});
  return kExitFindings;
}

int dispatch(std::string_view program, std::span<const Subcommand> subcommands,
             const std::vector<std::string>& arguments) {
  const std::string see_help = fmt::format("see {} --help", program);
  if (arguments.empty()) {
    return complain({"cli.no-command", "a command must be given: there is none", see_help});
  }
  const std::string& name = arguments[0];
  if (name == "--help" || name == "-h") return print(help_of(program, subcommands)), kExitOk;
  if (name == "--version") return print(fmt::format("refrain {}\n", version())), kExitOk;
  std::vector<std::string> names = {"--help", "--version"};
  for (const Subcommand& command : subcommands) {
    if (name == command.name) return command.run({arguments.begin() + 1, arguments.end()});
    names.emplace_back(command.name);
  }
  const auto near = nearest(name, names);
  return complain({"cli.unknown-command",
                   fmt::format("the command must be one of {}: {}", config::joined(names),
                               config::in_quotes(name)),
                   near ? fmt::format("did you mean {}?", *near) : see_help});
}

int fail(std::string_view kind, std::string_view what, int exit_code) {
  fmt::print(stderr, "{}: {}\n", kind, config::for_terminal(what));
  return exit_code;
}

}  // namespace

int run_spine(std::string_view program, std::span<const Subcommand> subcommands, int argc,
              char** argv) {
  try {
    return dispatch(program, subcommands, {argv + std::min(argc, 1), argv + argc});
  } catch (const Error& error) {
    return fail("error", error.what(), kExitError);
  } catch (const std::bad_alloc&) {
    return fail("error", "this machine's memory does not suffice", kExitError);
  } catch (const Bug& bug) {
    return fail("bug in Refrain, please report", bug.what(), kExitBug);
  } catch (const std::exception& unforeseen) {
    return fail("bug in Refrain, please report", unforeseen.what(), kExitBug);
  }
}

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw Error("writing to stdout: {}", std::strerror(errno));
  }
}

void save(std::string_view doing, const std::string& path, std::string_view text) {
  if (const auto reason = write_file(path, text)) {
    throw Error("{}: {} {}", doing, config::in_quotes(path), *reason);
  }
}

void tell(const Findings& findings) {
  fmt::print(stderr, "{}", config::for_terminal(to_text(findings)));
}

}  // namespace refrain::cli
