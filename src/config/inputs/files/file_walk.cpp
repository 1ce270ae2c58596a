#include "config/inputs/files/file_walk.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "config/inputs/flags/flag_effects.h"
#include "config/inputs/flags/flags.h"
#include "config/inputs/hugging_face/model_knobs.h"
#include "config/inputs/overrides/bridge_path.h"
#include "config/inputs/values/literal.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using Kind = FileNode::Kind;

constexpr int kMostSettings = 5000;  // a whole configuration of Megatron-Bridge has 1000

struct Entry {
  const std::string* key;
  const FileNode* node;
};

const FileNode* map_item(const FileNode& root, std::string_view key) {
  const FileNode* item = find_item(root, key);
  return item != nullptr && item->kind == Kind::kMap ? item : nullptr;
}

/// "silu" of {_target_: torch.nn.functional.silu, _call_: false}: something by its name.
const std::string* named_thing(const FileNode& map) {
  const FileNode* target = find_item(map, "_target_");
  const FileNode* call = find_item(map, "_call_");
  if (target == nullptr || call == nullptr || call->scalar != false) return nullptr;
  return target->scalar.is_string() ? &target->text : nullptr;
}

/// Megatron-LM's test scripts hand a value without blanks to a shell, twice in older releases.
std::string without_backslashes(std::string text) {
  if (text.find(' ') == std::string::npos) std::erase(text, '\\');
  return text;
}

/// The words that Megatron-LM's test scripts make of a value.
std::vector<std::string> words_of(const FileNode& node) {
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
  if (!is_list || trimmed(node.text) == "[]") return {without_backslashes(node.text)};
  return without_brackets({node.text});
}

std::string_view without_plus(std::string_view key) {
  while (key.starts_with('+')) key.remove_prefix(1);
  return key;
}

/// _target_ and the like say what a map is built into.
bool is_builders_key(std::string_view key) {
  return key.size() > 2 && key.starts_with('_') && key.ends_with('_');
}

/// "train" of "cfg.train.x".
std::string part_of(std::string_view path) {
  if (path.starts_with("cfg.")) path.remove_prefix(4);
  return std::string(path.substr(0, path.find('.')));
}

/// Collects what the tree sets.
class FileWalk {
 public:
  FileWalk(const std::string& name, FlagReleases releases) : name_(name), effects_(releases) {}

  Checked<Assignments> read(const FileNode& root) {
    if (root.kind == Kind::kScalar && root.scalar.is_null()) {
      note("empty", root, "a file must hold something to have an effect", "leave it out");
    } else if (root.kind != Kind::kMap) {
      complain("not-a-map", root, "a file must be a map of knobs", "write knob: value",
               Severity::kError);
    } else if (const FileNode* kwargs = map_item(root, "kwargs")) {
      map("", *kwargs, 0);
    } else if (const FileNode* flags = find_item(root, "MODEL_ARGS")) {
      arguments(*flags);
    } else if (find_item(root, "model_type") != nullptr && is_model_file(value_of(root))) {
      effects_.add(model_knobs(value_of(root), name_));
    } else {
      map("", root, 0);
    }
    note_elsewhere();
    return effects_.finish();
  }

 private:
  /// Words of a command line: what is no flag is an override.
  void arguments(const FileNode& node) {
    words_are_typed_ = true;
    if (node.kind == Kind::kMap) return map("", node, 0);
    note("empty", node, "MODEL_ARGS must hold flags to have an effect", "leave the file out");
  }

  Value value_as_meant(const FileNode& node) {
    if (!words_are_typed_ || !node.scalar.is_string()) return value_of(node);
    return read_literal(node.text, {"file", node.text}).value.value_or(node.scalar);
  }

  /// The entries of a map: those that YAML's merge key `<<` brings first, then its own, which win.
  std::vector<Entry> entries_of(const FileNode& map) {
    std::vector<Entry> entries;
    for (size_t i = 0; i < map.items.size(); ++i) {
      if (map.keys[i] != "<<") continue;
      for (const FileNode* from : merged_maps(map.items[i])) {
        const std::vector<Entry> more = entries_of(*from);
        entries.insert(entries.end(), more.begin(), more.end());
      }
    }
    const std::set<std::string_view> own(map.keys.begin(), map.keys.end());
    std::erase_if(entries, [&](const Entry& entry) { return own.contains(*entry.key); });
    for (size_t i = 0; i < map.items.size(); ++i) {
      if (map.keys[i] != "<<") entries.push_back({&map.keys[i], &map.items[i]});
    }
    return entries;
  }

  /// Maps that are merged, those that win last.
  std::vector<const FileNode*> merged_maps(const FileNode& merge) {
    std::vector<const FileNode*> maps = {&merge};
    if (merge.kind == Kind::kList) {
      maps.clear();
      for (const FileNode& item : merge.items) maps.insert(maps.begin(), &item);
    }
    for (const FileNode* each : maps) {
      if (each->kind == Kind::kMap) continue;
      complain("merge-not-a-map", merge, "<< must name a map, or a list of maps",
               "name an anchor of a map, <<: *base", Severity::kError);
      return {};
    }
    return maps;
  }

  void map(const std::string& path, const FileNode& node, int depth) {
    for (const Entry& entry : entries_of(node)) {
      const std::string& key = *entry.key;
      if (is_flag(key)) {
        flag(key, *entry.node);
      } else if (is_builders_key(key)) {
        continue;
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
    if (node.kind != Kind::kMap) return set(path, node, value_as_meant(node));
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

  /// One more; false, with a finding the first time, beyond the limit.
  bool has_room(const FileNode& node) {
    if (++num_settings_ <= kMostSettings) return true;
    if (num_settings_ == kMostSettings + 1) {
      complain("too-many-knobs", node,
               fmt::format("a file must set {} knobs and flags at most", kMostSettings),
               "keep what sets knobs", Severity::kError);
    }
    return false;
  }

  void set(const std::string& path, const FileNode& node, Value value) {
    if (!has_room(node)) return;
    if (!value.is_null() && (path == "model" || path == "cfg.model")) {
      return complain("not-a-map", node, "model must be a map of knobs",
                      "write the knobs below it, indented", Severity::kError);
    }
    const std::string place = place_of(node);
    Checked<Assignments> here =
        assignments_at(path, std::move(value), {Origin::kFile, place}, {"file", place});
    const bool is_elsewhere = here.value && here.value->size() == 1 &&
                              here.value->at(0).knob.find('.') != std::string::npos;
    if (is_elsewhere) {
      ++num_elsewhere_[part_of(path)];
    } else {
      effects_.add(std::move(here));
    }
  }

  void flag(const std::string& key, const FileNode& node) {
    if (!has_room(node)) return;
    if (node.scalar == false) {
      return note("flag-off", node, fmt::format("a flag is given or not: {} false is not", key),
                  "leave it out");
    }
    effects_.add(FlagUse{key, words_of(node), {Origin::kFile, place_of(node)}});
  }

  /// A whole configuration says much that no rule asks.
  void note_elsewhere() {
    if (num_elsewhere_.empty()) return;
    std::vector<std::string> parts;
    for (const auto& [part, count] : num_elsewhere_) {
      const bool is_known = !unknown_part(part + ".");
      parts.push_back(fmt::format("{} of {}{}", count, part,
                                  is_known ? "" : ", which Megatron-Bridge does not have"));
    }
    effects_.add(Finding{"file.elsewhere",
                         fmt::format("{}: values outside the model's configuration are not judged: "
                                     "{}",
                                     name_, joined(parts)),
                         "nothing to do", Severity::kNote});
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
  bool words_are_typed_ = false;
  int num_settings_ = 0;
  std::map<std::string, int> num_elsewhere_;  // by the part of the configuration
};

}  // namespace

Checked<Assignments> read_tree(const FileNode& root, const std::string& name,
                               FlagReleases releases) {
  return FileWalk(name, releases).read(root);
}

}  // namespace refrain::config
