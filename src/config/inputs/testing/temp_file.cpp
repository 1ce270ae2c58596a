#include "config/inputs/testing/temp_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace refrain::config {

TempFile::TempFile(const std::string& name, std::string_view text)
    : path_((std::filesystem::temp_directory_path() / fmt::format("refrain_{}_{}", getpid(), name))
                .string()) {
  std::ofstream(path_, std::ios::binary) << text;
}

TempFile::~TempFile() { std::remove(path_.c_str()); }

void TempFile::append(std::string_view text) const {
  std::ofstream(path_, std::ios::binary | std::ios::app) << text;
}

}  // namespace refrain::config
