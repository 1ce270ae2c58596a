// A regular file's bytes in memory, read on demand by the kernel.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <variant>

namespace refrain::train {

/// Owns a private, read-only mapping of a whole file; the bytes stay valid, and where they are,
/// until it is destroyed (moving does not move them), also where the file is renamed or removed.
/// A file that another process shortens meanwhile raises SIGBUS on the part that is gone.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  friend std::variant<MappedFile, std::error_code> map_file(const std::filesystem::path&);

  std::span<const std::byte> bytes_;
};

/// The mapping, or why there is none: what open(2), fstat(2) or mmap(2) said; invalid_argument for
/// what is not a regular file (never waits on a pipe). An empty file has an empty mapping.
std::variant<MappedFile, std::error_code> map_file(const std::filesystem::path& path);

}  // namespace refrain::train
