#include "config/inputs/files/config_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text_file.h"
#include "config/inputs/files/file_walk.h"
#include "config/inputs/trees/file_tree.h"
#include "config/inputs/values/reading.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostBytes = 16 << 20;

bool is_json(std::string_view text, std::string_view name) {
  if (name.ends_with(".json")) return true;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return false;
  const std::string_view start = trimmed(text.substr(0, 4096));
  if (!start.starts_with('{')) return false;
  const std::string_view inner = trimmed(start.substr(1));
  return inner.starts_with('"') || inner.starts_with('}');
}

Finding too_large(const std::string& name) {
  return {"file.too-large",
          fmt::format("{}: a file must have {} MiB at most", name, kMostBytes >> 20),
          "keep what sets knobs"};
}

}  // namespace

Checked<Assignments> read_config_text(std::string_view text, const std::string& name,
                                      FlagReleases releases) {
  using Result = Checked<Assignments>;
  if (text.size() > kMostBytes) return Result::reject({too_large(name)});
  if (const auto bad = first_bad_byte(text)) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(*bad);
    return Result::reject({{"file.not-text",
                            fmt::format("{}:{}: a file must be UTF-8 without NUL bytes", name,
                                        std::count(text.begin(), end, '\n') + 1),
                            "save it as UTF-8"}});
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  Checked<FileNode> tree =
      is_json(text, name) ? read_json_tree(text, name) : read_yaml_tree(text, name);
  if (!tree.value) return Result::reject(std::move(tree.findings));
  Result read = read_tree(*tree.value, name, releases);
  read.findings.insert(read.findings.begin(), tree.findings.begin(), tree.findings.end());
  return read;
}

Checked<Assignments> read_config_file(const std::string& path, FlagReleases releases) {
  const FileText file = read_file(path, kMostBytes);
  if (file.trouble == FileTrouble::kTooLarge) {
    return Checked<Assignments>::reject({too_large(path)});
  }
  if (file.trouble) throw Error("reading a configuration: {} {}", in_quotes(path), file.reason);
  return read_config_text(file.text, path, releases);
}

}  // namespace refrain::config
