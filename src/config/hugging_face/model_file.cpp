#include "config/hugging_face/model_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text_file.h"
#include "config/json_fields.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostFileBytes = 16 << 20;  // real ones have a few KiB

struct Refusal {
  const char *rule, *must, *remedy;
};

Refusal refusal_of(FileTrouble trouble) {
  switch (trouble) {
    case FileTrouble::kMissing:
      return {"no-such-file", "exist",
              "give the path of a config.json, or a name that `refrain models` lists"};
    case FileTrouble::kFolder:
      return {"is-a-directory", "be a file", "give the path of the config.json in it"};
    case FileTrouble::kSpecial:
      return {"not-a-file", "be a regular file", "copy it into a file"};
    case FileTrouble::kTooLarge:
      return {"file-too-large", "be small", "give the config.json, not the weights"};
    case FileTrouble::kUnreadable:
      break;
  }
  return {"unreadable-file", "be readable", "check its permissions"};
}

}  // namespace

Checked<std::string> read_model_text(const std::string& path) {
  FileText file = read_file(path, kMostFileBytes, SpecialFiles::kRefuse);
  if (!file.trouble) return Checked<std::string>::accept(std::move(file.text));
  const Refusal refusal = refusal_of(*file.trouble);
  return Checked<std::string>::reject(
      {{fmt::format("model.{}", refusal.rule),
        fmt::format("a model file must {}: {} {}", refusal.must, in_quotes(path), file.reason),
        refusal.remedy}});
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
