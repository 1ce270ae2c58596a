// Random damage to safetensors files: always an Error, or a file whose tensors can be read whole.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/error.h"
#include "train/disk/safetensors.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t limit) { return random() % limit; }

std::string valid_file(Random& random, const std::filesystem::path& path) {
  const std::vector<std::byte> data(2048, std::byte{7});
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < below(random, 6); ++i) {
    NamedTensor tensor{.name = "tensor." + std::to_string(i)};
    tensor.type = static_cast<StoredType>(below(random, 5));
    int64_t bytes = size_of(tensor.type);
    for (size_t dim = 0; dim < below(random, 4); ++dim) {
      tensor.shape.push_back(static_cast<int64_t>(below(random, 6)));
      bytes *= tensor.shape.back();
    }
    tensor.bytes = std::span(data).first(bytes);
    tensors.push_back(std::move(tensor));
  }
  write_safetensors(path, tensors, below(random, 2) ? Metadata{{"format", "pt"}} : Metadata{});
  return read_file(path);
}

void mutate(Random& random, std::string& text) {
  constexpr std::string_view kTokens[] = {
      "0",    "9",   "-",       "[", "]", "{", "}", ",", "\"", "1e9", "18446744073709551616",
      "null", "F64", "\\ud800", "\0"};
  const size_t place = below(random, text.size() + 1);
  const std::string_view token = kTokens[below(random, std::size(kTokens))];
  switch (below(random, 6)) {
    case 0:  // one bit
      if (place < text.size())
        text[place] = static_cast<char>(text[place] ^ (1 << below(random, 8)));
      break;
    case 1:  // the end is gone
      text.resize(place);
      break;
    case 2:  // overwritten by something that means something
      text.replace(place, token.size(), token);
      break;
    case 3:
      text.insert(place, token);
      break;
    case 4:  // another length, near or wild
      if (text.size() >= 8) {
        uint64_t length = below(random, 2) ? random() : below(random, text.size() + 16);
        std::memcpy(text.data(), &length, 8);
      }
      break;
    default:  // a piece stands twice
      text.insert(place, text.substr(below(random, text.size() + 1), below(random, 64)));
  }
}

TEST(SafetensorsFuzz, DamagedFilesAreRefusedOrWhole) {
  TempFolder folder;
  const auto path = folder / "t";
  Random random(20240607);
  int refused = 0, read = 0;
  std::string whole;
  for (int round = 0; round < 20'000; ++round) {
    if (round % 100 == 0) whole = valid_file(random, path);
    std::string text = whole;
    for (size_t i = 0; i < 1 + below(random, 3); ++i) mutate(random, text);
    write_file(path, text);
    try {
      const SafetensorsFile file(path);
      size_t used = 0;
      unsigned sum = 0;  // touches every byte: a wrong span is seen by the sanitizer
      for (const NamedTensor& tensor : file.tensors()) {
        used += tensor.bytes.size();
        for (const std::byte byte : tensor.bytes) sum += std::to_integer<unsigned>(byte);
      }
      EXPECT_LE(used, text.size());
      EXPECT_LE(sum, 255 * used);
      ++read;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
      ++refused;
    }
  }
  // Both happen, or the mutations are not what they should be.
  EXPECT_GT(refused, 8000);
  EXPECT_GT(read, 400);
}

TEST(SafetensorsFuzz, RandomBytesAreRefused) {
  TempFolder folder;
  const auto path = folder / "t";
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(below(random, 64), '\0');
    for (char& c : text) c = static_cast<char>(random());
    write_file(path, text);
    EXPECT_THROW(SafetensorsFile{path}, Error);
  }
}

}  // namespace
}  // namespace refrain::train
