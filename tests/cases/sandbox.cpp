#include "sandbox.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace refrain::cases {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEchoEngine =
    "#!/bin/sh\n"
    "printf 'engine\\n'\n"
    "for argument in \"$@\"; do printf '%s\\n' \"$argument\"; done\n";

fs::path new_folder() {
  std::string name = (fs::temp_directory_path() / "refrain_cases_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Error("making {}: {}", name, std::strerror(errno));
  return name;
}

void write_program(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
}

}  // namespace

Sandbox::Sandbox(Engine engine) : folder_(new_folder()) {
  fs::copy_file(fs::path(REFRAIN_BIN_DIR) / "refrain", folder_ / "refrain");
  if (engine == Engine::kEchoes) write_program(folder_ / "refrain-engine", kEchoEngine);
}

Sandbox::~Sandbox() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Outcome Sandbox::run(const std::string& line) const {
  const std::string script = "cd '" REFRAIN_SOURCE_DIR "/tests/cases' && PATH='" +
                             folder_.string() + "':\"$PATH\"\nexec 2>'" + path("err") + "' >'" +
                             path("out") + "'\n" + line + "\n";
  write_program(folder_ / "script", script);
  const int status = std::system(("/bin/sh '" + path("script") + "'").c_str());
  if (status == -1) throw Error("running a shell: {}", std::strerror(errno));
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = read_file(folder_ / "out"),
          .err = read_file(folder_ / "err")};
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("reading {}", path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace refrain::cases
