// Whole files: read up to a limit, written at once, and why that cannot be.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace refrain {

enum class FileTrouble {
  kMissing,
  kFolder,
  kSpecial,     // a pipe, a device, a socket
  kUnreadable,  // not permitted, or reading broke off
  kTooLarge,
};

/// Pipes and devices may never end, or never begin.
enum class SpecialFiles { kRead, kRefuse };

/// A file's text, or why there is none.
struct FileText {
  std::string text;
  std::optional<FileTrouble> trouble;
  std::string reason;  // of the trouble, to stand after the path: "is a folder"
};

/// Reads a file of at most `most_bytes` bytes; of a larger one no more than that and one byte.
FileText read_file(const std::string& path, size_t most_bytes,
                   SpecialFiles special = SpecialFiles::kRead);

/// Writes a file, in place of one that is there. What kept it from being written, to stand after
/// the path: "cannot be written: No space left on device"; nothing where it is written.
[[nodiscard]] std::optional<std::string> write_file(const std::string& path, std::string_view text);

}  // namespace refrain
