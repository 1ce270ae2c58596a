#include "train/disk/checksum.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <vector>

#include "train/disk/file_handle.h"

namespace refrain::train {

Checksum::Checksum() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

void Checksum::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t Checksum::value() const { return XXH3_64bits_digest(state_.get()); }

uint64_t checksum_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::variant<FileSum, std::error_code> sum_file(const std::filesystem::path& path) {
  const auto failure = [] { return std::error_code(errno, std::generic_category()); };
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return failure();
  std::vector<std::byte> buffer(1 << 20);  // large enough that system calls cost nothing
  Checksum checksum;
  FileSum sum;
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure();
    checksum.update(std::span(buffer).first(count));
    sum.bytes += count;
  }
  sum.xxh3 = checksum.value();
  return sum;
}

std::string to_hex(uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace refrain::train
