#include "config/inputs/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/inputs/file_tree.h"
#include "config/inputs/flag_effects.h"
#include "config/inputs/flags.h"
#include "config/inputs/overrides.h"
#include "config/inputs/reading.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostBytes = 16 << 20;
using Kind = FileNode::Kind;

struct Entry {
  const std::string* key;
  const FileNode* node;
};

/// The entries of a map: those that YAML's merge key `<<` brings first, then its own, which win.
std::vector<Entry> entries_of(const FileNode& map) {
  std::vector<Entry> entries;
  for (size_t i = 0; i < map.items.size(); ++i) {
    if (map.keys[i] != "<<") continue;
    std::vector<const FileNode*> merged = {&map.items[i]};
    if (map.items[i].kind == Kind::kList) {
      merged.clear();  // earlier maps win
      for (const FileNode& item : map.items[i].items) merged.insert(merged.begin(), &item);
    }
    for (const FileNode* from : merged) {
      const std::vector<Entry> more = entries_of(*from);
      entries.insert(entries.end(), more.begin(), more.end());
    }
  }
  std::set<std::string_view> own(map.keys.begin(), map.keys.end());
  std::erase_if(entries, [&](const Entry& entry) { return own.contains(*entry.key); });
  for (size_t i = 0; i < map.items.size(); ++i) {
    if (map.keys[i] != "<<") entries.push_back({&map.keys[i], &map.items[i]});
  }
  return entries;
}

/// "silu" of {_target_: torch.nn.functional.silu, _call_: false}: something by its name.
const std::string* named_thing(const FileNode& map) {
  const FileNode* target = find_item(map, "_target_");
  const FileNode* call = find_item(map, "_call_");
  if (target == nullptr || call == nullptr || call->scalar != false) return nullptr;
  return target->scalar.is_string() ? &target->text : nullptr;
}

/// Walks the tree and collects what it sets.
class FileWalk {
 public:
  FileWalk(const std::string& name, HarnessRevision revision) : name_(name), effects_(revision) {}

  Checked<Assignments> read(const FileNode& root) {
    if (root.kind == Kind::kScalar && root.scalar.is_null()) {
      note("empty", root, "a file must hold something to have an effect", "leave it out");
    } else if (root.kind != Kind::kMap) {
      complain("not-a-map", root, "a file must be a map of knobs", "write knob: value",
               Severity::kError);
    } else if (const FileNode* kwargs = map_item(root, "kwargs")) {
      map("", *kwargs, 0);
    } else if (const FileNode* flags = map_item(root, "MODEL_ARGS")) {
      map("", *flags, 0);
    } else {
      map("", root, 0);
    }
    return effects_.finish();
  }

 private:
  static const FileNode* map_item(const FileNode& root, std::string_view key) {
    const FileNode* item = find_item(root, key);
    return item != nullptr && item->kind == Kind::kMap ? item : nullptr;
  }

  void map(const std::string& path, const FileNode& node, int depth) {
    for (const Entry& entry : entries_of(node)) {
      const std::string& key = *entry.key;
      if (is_flag(key)) {
        flag(key, *entry.node);
      } else if (is_builders_key(key)) {
        continue;  // _target_ and the like say what the map is built into
      } else if (!is_knob_path(without_plus(key))) {
        note("not-a-knob", *entry.node,
             fmt::format("a knob's name must be letters, digits, _ and -: {} is left out",
                         in_quotes(key)),
             "correct the key");
      } else {
        const std::string name(without_plus(key));
        value(path.empty() ? name : path + "." + name, *entry.node, depth);
      }
    }
  }

  void value(const std::string& path, const FileNode& node, int depth) {
    if (node.kind != Kind::kMap) return set(path, node, value_of(node));
    if (const std::string* thing = named_thing(node)) {
      return set(path, node, thing->substr(thing->rfind('.') + 1));
    }
    const bool is_built = depth > 0 && find_item(node, "_target_") != nullptr;
    if (!is_built) return map(path, node, depth + 1);
    note("not-a-knob", node,
         fmt::format("a knob must be a value or a list: {} is an object that is built at run time, "
                     "and left out",
                     path),
         "set what it would hold");
  }

  void set(const std::string& path, const FileNode& node, Value value) {
    effects_.add(Checked<Assignments>::accept(
        {{knob_name(path), std::move(value), {Origin::kFile, place_of(node)}}}));
  }

  void flag(const std::string& key, const FileNode& node) {
    if (node.scalar == false) {
      return note("flag-off", node, fmt::format("a flag is given or not: {} false is not", key),
                  "leave it out");
    }
    effects_.add(FlagUse{key, words_of(node), {Origin::kFile, place_of(node)}});
  }

  /// The words that Megatron-LM's test scripts make of a value.
  static std::vector<std::string> words_of(const FileNode& node) {
    if (node.kind == Kind::kMap) return {value_of(node).dump()};
    if (node.kind == Kind::kList) {
      std::vector<std::string> words;
      for (const FileNode& item : node.items) {
        words.push_back(item.kind == Kind::kScalar ? item.text : value_of(item).dump());
      }
      return words.empty() ? std::vector<std::string>{"[]"} : words;
    }
    if (node.scalar.is_null() || node.scalar == true) return {};
    // One pair of brackets around everything; [0]*3+[1] is not a list yet.
    const bool is_list = node.text.starts_with('[') && node.text.find(']') + 1 == node.text.size();
    if (!is_list || trimmed(node.text) == "[]") return {node.text};
    return without_brackets({node.text});
  }

  static std::string_view without_plus(std::string_view key) {
    while (key.starts_with('+')) key.remove_prefix(1);
    return key;
  }

  static bool is_builders_key(std::string_view key) {
    return key.size() > 2 && key.starts_with('_') && key.ends_with('_');
  }

  std::string place_of(const FileNode& node) const {
    return node.line > 0 ? fmt::format("{}:{}", name_, node.line) : name_;
  }

  void note(std::string_view rule, const FileNode& node, std::string message, std::string remedy) {
    complain(rule, node, std::move(message), std::move(remedy), Severity::kNote);
  }

  void complain(std::string_view rule, const FileNode& node, std::string message,
                std::string remedy, Severity severity) {
    effects_.add(Finding{fmt::format("file.{}", rule),
                         fmt::format("{}: {}", place_of(node), message), std::move(remedy),
                         severity});
  }

  const std::string& name_;
  FlagEffects effects_;
};

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
                                      HarnessRevision revision) {
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
  Result read = FileWalk(name, revision).read(*tree.value);
  read.findings.insert(read.findings.begin(), tree.findings.begin(), tree.findings.end());
  return read;
}

Checked<Assignments> read_config_file(const std::string& path, HarnessRevision revision) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error("cannot read {}: it is a folder", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read {}: {}", path, std::strerror(errno));
  std::string text;
  std::vector<char> piece(64 << 10);
  while (text.size() <= kMostBytes && file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) throw Error("cannot read {}: {}", path, std::strerror(errno));
  return read_config_text(text, path, revision);
}

}  // namespace refrain::config
