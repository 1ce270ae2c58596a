// The safetensors file format: named tensors behind a JSON header.
//
// Eight bytes of header length (little-endian), the header, the tensors' bytes (little-endian,
// row-major), without gaps. As github.com/huggingface/safetensors describes it under "Format".
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/disk/checksum.h"
#include "train/disk/mapped_file.h"

namespace refrain::train {

static_assert(std::endian::native == std::endian::little, "tensors are stored as they lie");

/// The dtypes of the format that Refrain stores.
enum class StoredType : uint8_t { kF32, kBF16, kF64, kI32, kI64 };
int64_t size_of(StoredType type);
/// The format's spelling: "F32", "BF16", "F64", "I32", "I64".
std::string_view to_text(StoredType type);

/// A tensor's name and bytes, which somebody else owns. `bytes` holds the product of `shape` (1
/// where it is empty) elements, row-major.
struct NamedTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

/// Writes a file and waits until it is on disk; nothing is copied. Tensors are laid out by falling
/// element size, in the order given where equal, so that each is aligned. Names are unique UTF-8
/// and none is "__metadata__" (RC_CHECK). Throws Error where writing fails.
FileSum write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                          const Metadata& metadata);

/// A mapped safetensors file that has passed every check.
class SafetensorsFile {
 public:
  /// Throws Error that names the file and what is wrong with it: it cannot be mapped; a header
  /// length beyond the file or 100 MB; a header that is not JSON, nests, or names a tensor twice;
  /// fields that are missing, unknown or of another kind; a dtype not in StoredType; offsets out
  /// of range, overlapping, with gaps, or not of the size of dtype and shape; metadata that is not
  /// text.
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// In the order in which they lie in the file; bytes live as long as this object, and stay where
  /// they are when it is moved. Aligned to their element size in files that Refrain wrote.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  /// Null where there is none of that name.
  const NamedTensor* find(std::string_view name) const;
  const Metadata& metadata() const { return metadata_; }

 private:
  MappedFile file_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  Metadata metadata_;
};

}  // namespace refrain::train
