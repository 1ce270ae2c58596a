#include "train/disk/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "train/disk/file_handle.h"

namespace refrain::train {

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::variant<MappedFile, std::error_code> map_file(const std::filesystem::path& path) {
  const auto failure = [] { return std::error_code(errno, std::generic_category()); };
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return failure();
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure();
  if (!S_ISREG(status.st_mode)) return std::make_error_code(std::errc::invalid_argument);
  MappedFile mapped;
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return mapped;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return failure();
  mapped.bytes_ = {static_cast<const std::byte*>(address), size};
  return mapped;
}

}  // namespace refrain::train
