// train, bench and calibrate: judge the whole command line here, in milliseconds, then become the
// engine.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/spine.h"

namespace refrain::cli {
namespace {

std::filesystem::path engine_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("finding the folder of this executable: {}", error.message());
  return self.parent_path() / "refrain-engine";
}

/// Replaces this process by the engine, which reads the same arguments; returns only by throwing.
[[noreturn]] void become_engine(const std::string& command,
                                const std::vector<std::string>& arguments) {
  const std::string engine = engine_path();
  if (access(engine.c_str(), X_OK) != 0) {
    throw Error(
        "running the engine: {} cannot be run ({}); build it with -DREFRAIN_ENGINE=ON, or install "
        "it beside this executable",
        engine, std::strerror(errno));
  }
  std::vector<char*> argv = {const_cast<char*>(engine.c_str()), const_cast<char*>(command.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(engine.c_str(), argv.data());
  throw Error("running the engine {}: {}", engine, std::strerror(errno));
}

/// The engine tells the notes: it reads the same arguments again.
template <class Options>
int hand_over(const std::string& command, const Parsed<Options>& parsed,
              const std::vector<std::string>& arguments) {
  if (const auto code = answer(parsed)) return *code;
  become_engine(command, arguments);
}

}  // namespace

int train_command(const std::vector<std::string>& arguments) {
  return hand_over("train", parse_train(arguments), arguments);
}

int bench_command(const std::vector<std::string>& arguments) {
  return hand_over("bench", parse_bench(arguments), arguments);
}

int calibrate_command(const std::vector<std::string>& arguments) {
  return hand_over("calibrate", parse_calibrate(arguments), arguments);
}

}  // namespace refrain::cli
