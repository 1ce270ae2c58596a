#include "train/disk/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/error.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

/// A file of this header and this many bytes of data.
std::string file_of(std::string_view header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + std::string(header) + std::string(data_bytes, 'x');
}

/// The error that reading such a file gives; "" where it is read.
std::string error_of(std::string_view text) {
  TempFolder folder;
  const auto path = folder / "t.safetensors";
  write_file(path, text);
  try {
    const SafetensorsFile file(path);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

std::string error_of(std::string_view header, size_t data_bytes) {
  return error_of(file_of(header, data_bytes));
}

void expect_error(std::string_view part, std::string_view header, size_t data_bytes) {
  const std::string error = error_of(header, data_bytes);
  EXPECT_NE(error.find(part), std::string::npos) << "'" << error << "' for " << header;
}

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

TEST(Safetensors, EveryTypeAndShapeComesBackBitwise) {
  TempFolder folder;
  const std::vector<float> f32 = {1.5f, -0.0f, NAN, 3e-45f, 2, 3};
  const std::vector<double> f64 = {0.1};
  const std::vector<uint16_t> bf16 = {0x3f80, 0x7fc1, 0xffff};
  const std::vector<int32_t> i32 = {-1, 2};
  const std::vector<int64_t> i64 = {INT64_MIN, INT64_MAX};
  const std::vector<NamedTensor> tensors = {
      {"bf16", StoredType::kBF16, {3, 1}, bytes_of(bf16)},
      {"f32", StoredType::kF32, {2, 3}, bytes_of(f32)},
      {"scalar", StoredType::kF64, {}, bytes_of(f64)},
      {"i32 \"quoted\" \xc3\xa9", StoredType::kI32, {2}, bytes_of(i32)},
      {"i64", StoredType::kI64, {1, 2, 1}, bytes_of(i64)},
      {"nothing", StoredType::kF32, {4, 0, 7}, {}},
  };
  const Metadata metadata = {{"format", "pt"}, {"step", "3"}};
  const FileSum sum = write_safetensors(folder / "t", tensors, metadata);

  const SafetensorsFile file(folder / "t");
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const NamedTensor& tensor : tensors) {
    const NamedTensor* stored = file.find(tensor.name);
    ASSERT_TRUE(stored) << tensor.name;
    EXPECT_EQ(stored->type, tensor.type);
    EXPECT_EQ(stored->shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(stored->bytes, tensor.bytes)) << tensor.name;
  }
  EXPECT_FALSE(file.find("f3"));
  EXPECT_EQ(std::get<FileSum>(sum_file(folder / "t")), sum);
}

TEST(Safetensors, TensorsLieAlignedToTheirElements) {
  TempFolder folder;
  const std::vector<uint16_t> odd = {1};
  const std::vector<double> even = {2.0};
  write_safetensors(folder / "t",
                    std::vector<NamedTensor>{{"odd", StoredType::kBF16, {1}, bytes_of(odd)},
                                             {"even", StoredType::kF64, {1}, bytes_of(even)}},
                    {});
  const SafetensorsFile file(folder / "t");
  for (const NamedTensor& tensor : file.tensors()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % size_of(tensor.type), 0u);
  }
}

TEST(Safetensors, TensorsStayWhereTheyAreWhenTheFileIsMoved) {
  TempFolder folder;
  const std::vector<float> values = {1, 2, 3};
  write_safetensors(folder / "t",
                    std::vector<NamedTensor>{{"a", StoredType::kF32, {3}, bytes_of(values)}}, {});
  SafetensorsFile first(folder / "t");
  const std::byte* place = first.find("a")->bytes.data();
  const SafetensorsFile second = std::move(first);
  EXPECT_EQ(second.find("a")->bytes.data(), place);
  EXPECT_TRUE(std::ranges::equal(second.find("a")->bytes, bytes_of(values)));
}

TEST(Safetensors, AFileWithoutTensorsIsValid) {
  TempFolder folder;
  write_safetensors(folder / "t", {}, {});
  EXPECT_TRUE(SafetensorsFile(folder / "t").tensors().empty());
}

TEST(Safetensors, TheHeaderIsWhatTheFormatSays) {
  TempFolder folder;
  const std::vector<float> values = {1, 2};
  write_safetensors(folder / "t",
                    std::vector<NamedTensor>{{"a", StoredType::kF32, {2}, bytes_of(values)}}, {});
  const std::string header = R"({"a":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})";
  std::string expected = file_of(header + std::string(8 - header.size() % 8, ' '), 8);
  std::memcpy(expected.data() + expected.size() - 8, values.data(), 8);
  EXPECT_EQ(read_file(folder / "t"), expected);
}

TEST(Safetensors, AFileThatCannotBeMappedIsNamed) {
  EXPECT_THROW(SafetensorsFile("/nonexistent/x.safetensors"), Error);
  EXPECT_THROW(SafetensorsFile("/dev/null"), Error);
}

TEST(Safetensors, TheHeaderLengthIsBoundByTheFile) {
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of("1234567"), "");
  const std::string whole = file_of("{}", 0);
  EXPECT_EQ(error_of(whole), "");
  EXPECT_NE(error_of(whole.substr(0, whole.size() - 1)), "");
  for (const uint64_t length : {uint64_t{3}, uint64_t{100'000'001}, UINT64_MAX, UINT64_MAX - 7}) {
    std::string text = whole;
    std::memcpy(text.data(), &length, 8);
    EXPECT_NE(error_of(text).find("must have a header of at most 2 bytes"), std::string::npos);
  }
}

TEST(Safetensors, TheHeaderIsAnObjectOfDescribedTensors) {
  EXPECT_EQ(error_of("{}   ", 0), "");
  expect_error("begins with {", " {}", 0);
  expect_error("begins with {", "[]", 0);
  expect_error("is not JSON", "{", 0);
  expect_error("is not JSON", "{} {}", 0);
  expect_error("is not JSON", "{\"\xff\":1}", 0);
  expect_error("nests deeper", R"({"a":{"shape":[[)" + std::string(100000, '['), 0);
  expect_error("by dtype, shape and data_offsets", R"({"a":1})", 0);
  expect_error("by dtype, shape and data_offsets", R"({"a":{"dtype":"F32","shape":[]}})", 4);
  expect_error("by dtype, shape and data_offsets",
               R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":0}})", 4);
}

TEST(Safetensors, NamesStandOnce) {
  const std::string one = R"("a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(error_of("{" + one + "}", 0), "");
  expect_error("names \"a\" twice", "{" + one + "," + one + "}", 0);
  expect_error("names \"shape\" twice",
               R"({"a":{"dtype":"F32","shape":[0],"shape":[0],"data_offsets":[0,0]}})", 0);
}

TEST(Safetensors, TypesAreThoseThatAreStored) {
  expect_error("of dtype \"F16\"", R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})", 2);
  expect_error("dtype not a text", R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", 4);
}

TEST(Safetensors, ShapesAndOffsetsAreWholeNumbers) {
  for (const std::string_view shape : {"-1", "1.0", "\"1\"", "null", "[1]", "18446744073709551615",
                                       "9223372036854775808", "true"}) {
    expect_error(
        shape == "[1]" ? "nests" : "whole numbers as shape",
        fmt::format(R"({{"a":{{"dtype":"F32","shape":[{}],"data_offsets":[0,4]}}}})", shape), 4);
  }
  expect_error("whole numbers as data_offsets",
               R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,-4]}})", 4);
  expect_error("whole numbers as shape", R"({"a":{"dtype":"F32","shape":{},"data_offsets":[0,4]}})",
               4);
}

TEST(Safetensors, TensorsLieWithinTheData) {
  const auto header = [](std::string_view offsets) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":[1],"data_offsets":[{}]}}}})", offsets);
  };
  EXPECT_EQ(error_of(header("0,4"), 4), "");
  expect_error("within its 3 bytes", header("0,4"), 3);
  expect_error("within its 4 bytes", header("4,0"), 4);
  expect_error("within its 4 bytes", header("0,4,4"), 4);
  expect_error("within its 4 bytes", header("4"), 4);
  expect_error("within its 4 bytes", header("9223372036854775803,9223372036854775807"), 4);
}

TEST(Safetensors, SizesFitTypeAndShapeWithoutOverflow) {
  const auto header = [](std::string_view shape) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":[{}],"data_offsets":[0,4]}}}})", shape);
  };
  EXPECT_EQ(error_of(header("1,1"), 4), "");
  EXPECT_EQ(error_of(header(""), 4), "");
  expect_error("as many bytes as F32 [2]", header("2"), 4);
  expect_error("as many bytes", header("0"), 4);
  // 2^62 * 2^62 * ... wraps around to small products.
  expect_error("as many bytes", header("4611686018427387904,4611686018427387905"), 4);
  expect_error("as many bytes", header("9223372036854775807,3"), 4);
}

TEST(Safetensors, DataIsCoveredOnce) {
  const auto header = [](std::string_view a, std::string_view b) {
    return fmt::format(R"({{"a":{{"dtype":"BF16","shape":[2],"data_offsets":[{}]}},)"
                       R"("b":{{"dtype":"BF16","shape":[2],"data_offsets":[{}]}}}})",
                       a, b);
  };
  EXPECT_EQ(error_of(header("0,4", "4,8"), 8), "");
  EXPECT_EQ(error_of(header("4,8", "0,4"), 8), "");
  expect_error("overlaps", header("0,4", "2,6"), 6);
  expect_error("overlaps", header("0,4", "0,4"), 4);
  expect_error("leaves a gap", header("0,4", "5,9"), 9);
  expect_error("leaves a gap", header("1,5", "5,9"), 9);
  expect_error("holds 9 bytes of data but tensors for 8", header("0,4", "4,8"), 9);
}

TEST(Safetensors, MetadataIsText) {
  EXPECT_EQ(error_of(R"({"__metadata__":{"a":"b"}})", 0), "");
  expect_error("metadata that is not an object", R"({"__metadata__":"a"})", 0);
  expect_error("metadata \"a\" that is not text", R"({"__metadata__":{"a":1}})", 0);
}

TEST(Safetensors, AFullDiskIsAnError) {
  const std::vector<float> values = {1, 2};
  const std::vector<NamedTensor> tensors = {{"a", StoredType::kF32, {2}, bytes_of(values)}};
  try {
    write_safetensors("/dev/full", tensors, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cannot write /dev/full: No space left on device");
  }
}

TEST(Safetensors, WritingRefusesWhatItWouldNotRead) {
  TempFolder folder;
  const std::vector<float> values = {1, 2};
  const NamedTensor good{"a", StoredType::kF32, {2}, bytes_of(values)};
  NamedTensor reserved = good, wrong_size = good;
  reserved.name = "__metadata__";
  wrong_size.shape = {3};
  using Tensors = std::vector<NamedTensor>;
  EXPECT_THROW(write_safetensors(folder / "t", Tensors{good, good}, {}), Bug);
  EXPECT_THROW(write_safetensors(folder / "t", Tensors{reserved}, {}), Bug);
  EXPECT_THROW(write_safetensors(folder / "t", Tensors{wrong_size}, {}), Bug);
}

}  // namespace
}  // namespace refrain::train
