#include "train/disk/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "train/disk/durable_file.h"
#include "train/disk/strict_json.h"

namespace refrain::train {
namespace {

using nlohmann::json;

struct TypeRow {
  StoredType type;
  std::string_view name;
  int64_t size;
};
constexpr std::array kTypes = {
    TypeRow{StoredType::kF32, "F32", 4}, TypeRow{StoredType::kBF16, "BF16", 2},
    TypeRow{StoredType::kF64, "F64", 8}, TypeRow{StoredType::kI32, "I32", 4},
    TypeRow{StoredType::kI64, "I64", 8},
};

const TypeRow& row_of(StoredType type) {
  const auto row = std::ranges::find(kTypes, type, &TypeRow::type);
  RC_CHECK(row != kTypes.end(), "{}", static_cast<int>(type));
  return *row;
}

constexpr std::string_view kMetadata = "__metadata__";
constexpr int64_t kLengthSize = 8;
// The limit of the format's reference reader: keeps a damaged length from asking for the memory.
constexpr int64_t kMaxHeader = 100'000'000;
// {name: {shape: []}}
constexpr int kHeaderDepth = 3;

/// Bytes of a tensor; nothing where a size is negative or the product exceeds int64.
std::optional<int64_t> stored_size(StoredType type, const std::vector<int64_t>& shape) {
  int64_t bytes = size_of(type);
  // Zero first: the product of the others may overflow and does not matter.
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 0; })) return {};
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return {};
  }
  return bytes;
}

std::vector<const NamedTensor*> by_falling_size(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::greater(),
                           [](const NamedTensor* tensor) { return size_of(tensor->type); });
  return order;
}

std::string make_header(std::span<const NamedTensor* const> order, const Metadata& metadata) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  int64_t offset = 0;
  for (const NamedTensor* tensor : order) {
    const auto bytes = static_cast<int64_t>(tensor->bytes.size());
    RC_CHECK(tensor->name != kMetadata && !header.contains(tensor->name), "{}", tensor->name);
    RC_CHECK(stored_size(tensor->type, tensor->shape) == bytes, "{}: {} bytes", tensor->name,
             bytes);
    header[tensor->name] = {{"dtype", to_text(tensor->type)},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors start aligned
  RC_CHECK(static_cast<int64_t>(text.size()) <= kMaxHeader, "{} tensors", order.size());
  return text;
}

// --- reading ------------------------------------------------------------------------------------

/// Turns a header into tensors over the bytes behind it; the first thing that is wrong is thrown.
class HeaderReader {
 public:
  HeaderReader(std::string file, std::span<const std::byte> data)
      : file_(std::move(file)), data_(data) {}

  std::vector<NamedTensor> tensors;
  Metadata metadata;

  void read(const json& header) {
    if (!header.is_object()) fail("has a header that is not an object");
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        read_metadata(value);
      } else {
        read_tensor(name, value);
      }
    }
    check_layout();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error("{} {}", file_, what); }

  void read_metadata(const json& value) {
    if (!value.is_object()) fail("has metadata that is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(fmt::format("has metadata \"{}\" that is not text", key));
      metadata[key] = text.get<std::string>();
    }
  }

  void read_tensor(const std::string& name, const json& value) {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
        !value.contains("shape") || !value.contains("data_offsets")) {
      fail(fmt::format("must describe tensor \"{}\" by dtype, shape and data_offsets alone", name));
    }
    NamedTensor tensor;
    tensor.name = name;
    tensor.type = read_type(name, value["dtype"]);
    tensor.shape = read_numbers(name, "shape", value["shape"]);
    const std::vector<int64_t> offsets = read_numbers(name, "data_offsets", value["data_offsets"]);
    if (offsets.size() != 2 || offsets[0] > offsets[1] ||
        offsets[1] > static_cast<int64_t>(data_.size())) {
      fail(fmt::format("must have tensor \"{}\" within its {} bytes of data: [{}]", name,
                       data_.size(), fmt::join(offsets, ", ")));
    }
    tensor.bytes = data_.subspan(offsets[0], offsets[1] - offsets[0]);
    if (stored_size(tensor.type, tensor.shape) != offsets[1] - offsets[0]) {
      fail(fmt::format("must have tensor \"{}\" of as many bytes as {} [{}] takes: {}", name,
                       to_text(tensor.type), fmt::join(tensor.shape, ", "), tensor.bytes.size()));
    }
    tensors.push_back(std::move(tensor));
  }

  StoredType read_type(const std::string& name, const json& value) const {
    if (!value.is_string()) fail(fmt::format("has tensor \"{}\" with a dtype not a text", name));
    const auto row = std::ranges::find(kTypes, value.get<std::string>(), &TypeRow::name);
    if (row == kTypes.end()) {
      fail(fmt::format("has tensor \"{}\" of dtype {}, which is none of F32, BF16, F64, I32, I64",
                       name, value.dump()));
    }
    return row->type;
  }

  std::vector<int64_t> read_numbers(const std::string& name, std::string_view field,
                                    const json& value) const {
    const auto is_size = [](const json& number) {
      return number.is_number_unsigned() && number.get<uint64_t>() <= uint64_t{INT64_MAX};
    };
    if (!value.is_array() || !std::ranges::all_of(value, is_size)) {
      fail(fmt::format("must have tensor \"{}\" with whole numbers as {}", name, field));
    }
    return value.get<std::vector<int64_t>>();
  }

  // Sorted by their begin, tensors follow each other without gap or overlap up to the end.
  void check_layout() {
    std::ranges::sort(tensors, {}, [](const NamedTensor& tensor) {
      return std::pair(tensor.bytes.data(), tensor.bytes.size());
    });
    const std::byte* end = data_.data();
    for (const NamedTensor& tensor : tensors) {
      if (tensor.bytes.data() != end) {
        fail(fmt::format("has tensor \"{}\" that {} the one before it", tensor.name,
                         tensor.bytes.data() < end ? "overlaps" : "leaves a gap to"));
      }
      end += tensor.bytes.size();
    }
    if (const auto used = end - data_.data(); used != std::ssize(data_)) {
      fail(fmt::format("holds {} bytes of data but tensors for {}", data_.size(), used));
    }
  }

  std::string file_;
  std::span<const std::byte> data_;
};

/// The header's length, or Error where the file cannot have one of that length.
int64_t header_length(const std::string& file, std::span<const std::byte> bytes) {
  uint64_t length = 0;
  if (std::ssize(bytes) < kLengthSize) {
    throw Error("{} is too short to be safetensors: {} bytes", file, bytes.size());
  }
  std::memcpy(&length, bytes.data(), kLengthSize);
  const int64_t limit = std::min(kMaxHeader, std::ssize(bytes) - kLengthSize);
  if (length > static_cast<uint64_t>(limit)) {
    throw Error("{} must have a header of at most {} bytes: {}", file, limit, length);
  }
  return static_cast<int64_t>(length);
}

MappedFile map_or_throw(const std::filesystem::path& path) {
  auto mapped = map_file(path);
  if (const auto* error = std::get_if<std::error_code>(&mapped)) {
    throw Error("cannot map {}: {}", path.string(), error->message());
  }
  return std::get<MappedFile>(std::move(mapped));
}

}  // namespace

int64_t size_of(StoredType type) { return row_of(type).size; }
std::string_view to_text(StoredType type) { return row_of(type).name; }

FileSum write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                          const Metadata& metadata) {
  const std::vector<const NamedTensor*> order = by_falling_size(tensors);
  const std::string header = make_header(order, metadata);
  const auto length = std::bit_cast<std::array<std::byte, kLengthSize>>(uint64_t{header.size()});
  DurableFile file(path);
  file.write(length);
  file.write(header);
  for (const NamedTensor* tensor : order) file.write(tensor->bytes);
  return file.close();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(map_or_throw(path)) {
  const std::span<const std::byte> bytes = file_.bytes();
  const int64_t length = header_length(path.string(), bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthSize,
                              static_cast<size_t>(length));
  if (!text.starts_with('{'))
    throw Error("{} must have a header that begins with {{", path.string());
  auto header = parse_strict_json(text, kHeaderDepth);
  if (const auto* complaint = std::get_if<Complaint>(&header)) {
    throw Error("{} has a header that {}", path.string(), complaint->text);
  }
  HeaderReader reader(path.string(), bytes.subspan(kLengthSize + length));
  reader.read(std::get<json>(header));
  tensors_ = std::move(reader.tensors);
  metadata_ = std::move(reader.metadata);
  for (size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

const NamedTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace refrain::train
