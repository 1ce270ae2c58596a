#include "train/disk/durable_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace refrain::train {

namespace fs = std::filesystem;

DurableFile::DurableFile(fs::path path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (!file_.is_open()) throw Error("cannot create {}: {}", path_.string(), last_system_error());
}

void DurableFile::write(std::span<const std::byte> bytes) {
  // Hashed and written piece by piece, so that a piece is in the cache for the second pass.
  constexpr size_t kPiece = 1 << 20;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(kPiece, bytes.size()));
    const ssize_t count = ::write(file_.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error("cannot write {}: {}", path_.string(), last_system_error());
    checksum_.update(piece.first(count));
    size_ += count;
    bytes = bytes.subspan(count);
  }
}

FileSum DurableFile::close() {
  if (::fsync(file_.get()) != 0) {
    throw Error("cannot bring {} to disk: {}", path_.string(), last_system_error());
  }
  if (::close(file_.release()) != 0) {
    throw Error("cannot close {}: {}", path_.string(), last_system_error());
  }
  return {size_, checksum_.value()};
}

void sync_folder(const fs::path& folder) {
  const FileHandle handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle.is_open()) {
    throw Error("cannot open folder {}: {}", folder.string(), last_system_error());
  }
  if (::fsync(handle.get()) != 0) {
    throw Error("cannot bring folder {} to disk: {}", folder.string(), last_system_error());
  }
}

void create_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  const fs::path absolute = fs::absolute(folder).lexically_normal();
  const fs::path path = absolute.has_filename() ? absolute : absolute.parent_path();
  create_folder(path.parent_path());
  if (::mkdir(path.c_str(), 0777) != 0) {
    const std::string reason = last_system_error();
    if (fs::is_directory(path, error)) return;  // somebody else was faster
    throw Error("cannot create folder {}: {}", path.string(), reason);
  }
  sync_folder(path.parent_path());
}

void rename_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) {
    throw Error("cannot rename {} to {}: {}", from.string(), to.string(), error.message());
  }
}

void remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) throw Error("cannot remove {}: {}", folder.string(), error.message());
}

FolderLock::FolderLock(const fs::path& folder) {
  const fs::path path = folder / ".lock";
  file_ = FileHandle(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file_.is_open()) throw Error("cannot create {}: {}", path.string(), last_system_error());
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) {
    throw Error("another process is saving into {}: one run to a folder", folder.string());
  }
  throw Error("cannot lock {}: {}", path.string(), last_system_error());
}

}  // namespace refrain::train
