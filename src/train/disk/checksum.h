// XXH3, the 64-bit hash by which damage to a file is found.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

namespace refrain::train {

/// XXH3 64 of the bytes given so far, in any pieces.
class Checksum {
 public:
  /// Throws std::bad_alloc.
  Checksum();
  void update(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

uint64_t checksum_of(std::string_view text);

/// Size and XXH3 of a file, by which it is known again.
struct FileSum {
  int64_t bytes = 0;
  uint64_t xxh3 = 0;

  bool operator==(const FileSum&) const = default;
};

/// Reads the whole file, without mapping it: a block that the disk cannot read is an error code
/// (of open(2) or read(2)), not a signal.
std::variant<FileSum, std::error_code> sum_file(const std::filesystem::path& path);

/// Sixteen hexadecimal digits, as state.json holds them.
std::string to_hex(uint64_t value);

}  // namespace refrain::train
