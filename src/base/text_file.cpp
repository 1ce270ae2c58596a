#include "base/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace refrain {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

FileText refuse(FileTrouble trouble, std::string reason) {
  return {"", trouble, std::move(reason)};
}

FileText unreadable(int error) {
  return refuse(FileTrouble::kUnreadable, fmt::format("cannot be read: {}", std::strerror(error)));
}

std::string unwritable(int error) {
  return fmt::format("cannot be written: {}", std::strerror(error));
}

}  // namespace

FileText read_file(const std::string& path, size_t most_bytes, SpecialFiles special) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const bool is_missing =
      status.type() == fs::file_type::not_found || error == std::errc::filename_too_long;
  if (is_missing) return refuse(FileTrouble::kMissing, "does not exist");
  if (error) return unreadable(error.value());
  if (fs::is_directory(status)) return refuse(FileTrouble::kFolder, "is a folder");
  if (special == SpecialFiles::kRefuse && fs::is_other(status)) {
    return refuse(FileTrouble::kSpecial, "is no regular file");
  }
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return unreadable(errno);
  FileText read;
  std::vector<char> piece(kPieceBytes);
  while (read.text.size() <= most_bytes) {
    const size_t wanted = std::min(piece.size(), most_bytes + 1 - read.text.size());
    const size_t got = std::fread(piece.data(), 1, wanted, file.get());
    read.text.append(piece.data(), got);
    if (got == wanted) continue;
    if (std::ferror(file.get()) != 0) return unreadable(errno);
    return read;
  }
  return refuse(FileTrouble::kTooLarge, fmt::format("has more than {} bytes", most_bytes));
}

std::optional<std::string> write_file(const std::string& path, std::string_view text) {
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return unwritable(errno);
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) return unwritable(errno);
  if (std::fclose(file.release()) != 0) return unwritable(errno);
  return std::nullopt;
}

}  // namespace refrain
