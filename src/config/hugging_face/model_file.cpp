#include "config/hugging_face/model_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/json_fields.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr uintmax_t kMostFileBytes = 16u << 20;  // real ones have a few KiB

Findings judge_path(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return {{"model.no-such-file", fmt::format("a model file must exist: {}", in_quotes(path)),
             "give the path of a config.json, or a name that `refrain models` lists"}};
  }
  if (std::filesystem::is_directory(status)) {
    return {{"model.is-a-directory",
             fmt::format("a model file must be a file: {} is a directory", in_quotes(path)),
             "give the path of the config.json in it"}};
  }
  if (!std::filesystem::is_regular_file(status)) {
    return {{"model.not-a-file",
             fmt::format("a model file must be a regular file: {}", in_quotes(path)),
             "copy it into a file"}};
  }
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > kMostFileBytes) {
    return {{"model.file-too-large",
             fmt::format("a model file must not exceed {} bytes: {} has {}", kMostFileBytes,
                         in_quotes(path), bytes),
             "give the config.json, not the weights"}};
  }
  return {};
}

}  // namespace

Checked<std::string> read_model_text(const std::string& path) {
  if (Findings findings = judge_path(path); !findings.empty()) {
    return Checked<std::string>::reject(std::move(findings));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Checked<std::string>::reject(
        {{"model.unreadable-file",
          fmt::format("a model file must be readable: {}", in_quotes(path)),
          "check its permissions"}});
  }
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw Error("reading {}: the file broke off", in_quotes(path));
  return Checked<std::string>::accept(std::move(text));
}

Checked<nlohmann::json> parse_model_text(std::string_view text, const std::string& name) {
  using Result = Checked<nlohmann::json>;
  const auto broken = [&](std::string_view why) {
    return Result::reject(
        {{"model.broken-json", fmt::format("{} must be JSON: {}", in_quotes(name), why),
          "correct the file, or fetch it again"}});
  };
  // The parser would take a zero byte for the end.
  if (text.find('\0') != std::string_view::npos) return broken("it contains a zero byte");
  nlohmann::json file;
  try {
    file = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return broken(in_quotes(error.what()));
  }
  if (!file.is_object()) {
    return Result::reject(
        {{"model.not-an-object",
          fmt::format("{} must hold one JSON object: {}", in_quotes(name), shown(file)),
          "give the config.json of a model"}});
  }
  return Result::accept(std::move(file));
}

}  // namespace refrain::config
