// Runs `refrain` as a user does: through a shell, in a folder of its own.
#pragma once

#include <filesystem>
#include <string>

namespace refrain::cases {

struct Outcome {
  int exit_code = -1;  // 128 + signal where one ended it
  std::string out, err;
};

/// A temporary folder with a copy of `refrain` first in PATH, and beside it, where wanted, an
/// engine that only prints its arguments, one a line: what `refrain` hands over, without LibTorch.
class Sandbox {
 public:
  enum class Engine { kAbsent, kEchoes };

  explicit Sandbox(Engine engine = Engine::kEchoes);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  /// Runs a line of shell with tests/cases/ as the working directory; Error where that fails.
  Outcome run(const std::string& line) const;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

/// The whole file; Error where it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace refrain::cases
