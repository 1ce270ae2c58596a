#include "config/inputs/trees/file_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostNodes = 100'000;
constexpr size_t kMostLevels = 64;

struct Extent {
  size_t nodes = 1;
  size_t levels = 1;
};

Extent extent_of(const FileNode& node) {
  Extent extent;
  for (const FileNode& item : node.items) {
    const Extent inner = extent_of(item);
    extent.nodes += inner.nodes;
    extent.levels = std::max(extent.levels, inner.levels + 1);
  }
  return extent;
}

}  // namespace

const FileNode* find_item(const FileNode& map, std::string_view key) {
  const auto found = std::find(map.keys.begin(), map.keys.end(), key);
  if (found == map.keys.end()) return nullptr;
  return &map.items[static_cast<size_t>(found - map.keys.begin())];
}

Value value_of(const FileNode& node) {
  if (node.kind == FileNode::Kind::kScalar) return node.scalar;
  Value value = node.kind == FileNode::Kind::kList ? Value::array() : Value::object();
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (node.kind == FileNode::Kind::kList) {
      value.push_back(value_of(node.items[i]));
    } else {
      value[node.keys[i]] = value_of(node.items[i]);
    }
  }
  return value;
}

void TreeBuilder::scalar(FileNode leaf) {
  if (has_room(1, 1, leaf.line)) place(std::move(leaf));
}

void TreeBuilder::begin(FileNode::Kind kind, int line) {
  if (!has_room(1, 1, line)) return;
  FileNode node;
  node.kind = kind;
  node.line = line;
  open_.push_back({std::move(node), {}, {}});
}

void TreeBuilder::end() {
  if (stopped()) return;
  FileNode node = std::move(open_.back().node);
  open_.pop_back();
  place(std::move(node));
}

void TreeBuilder::copy(const FileNode& node, int line) {
  const Extent extent = extent_of(node);
  if (!has_room(extent.nodes, extent.levels, line)) return;
  FileNode made = node;
  made.line = line;
  place(std::move(made));
}

void TreeBuilder::charge(const FileNode& node, int line) {
  has_room(extent_of(node).nodes, 0, line);
}

bool TreeBuilder::has_room(size_t nodes, size_t levels, int line) {
  if (stopped()) return false;
  num_nodes_ += nodes;
  if (num_nodes_ > kMostNodes) {
    complain("too-many-values", line,
             fmt::format("a file must hold {} values at most, aliases written out", kMostNodes),
             "keep what sets knobs");
  } else if (open_.size() + levels > kMostLevels) {
    complain("too-deep", line,
             fmt::format("lists and maps must be nested {} deep at most", kMostLevels),
             "write it flatter");
  }
  return !stopped();
}

void TreeBuilder::place(FileNode node) {
  last_ = nullptr;
  if (open_.empty()) {
    root_ = std::move(node);
    last_ = &root_;
    return;
  }
  Frame& frame = open_.back();
  if (frame.node.kind == FileNode::Kind::kMap) return place_in_map(frame, std::move(node));
  frame.node.items.push_back(std::move(node));
  last_ = &frame.node.items.back();
}

void TreeBuilder::place_in_map(Frame& frame, FileNode node) {
  if (!frame.key) {
    if (node.kind != FileNode::Kind::kScalar) {
      return complain("key-not-text", node.line, "a key must be text, not a list or a map",
                      "write key: value");
    }
    frame.key = std::move(node.text);
    return;
  }
  const std::string key = *std::exchange(frame.key, std::nullopt);
  const auto [found, is_new] = frame.index.emplace(key, frame.node.items.size());
  if (is_new) {
    frame.node.keys.push_back(key);
    frame.node.items.push_back(std::move(node));
  } else {
    complain("duplicate-key", node.line,
             fmt::format("a key must be there once: {} is there again; the last one counts, and "
                         "Megatron-Bridge refuses the file",
                         in_quotes(key)),
             "keep the one you mean", Severity::kNote);
    frame.node.items[found->second] = std::move(node);
  }
  last_ = &frame.node.items[found->second];
}

void TreeBuilder::complain(std::string_view rule, int line, std::string message, std::string remedy,
                           Severity severity) {
  const std::string place = line > 0 ? fmt::format("{}:{}", name_, line) : std::string(name_);
  findings_.push_back({fmt::format("file.{}", rule), fmt::format("{}: {}", place, message),
                       std::move(remedy), severity});
  stopped_ = stopped_ || severity == Severity::kError;
}

Checked<FileNode> TreeBuilder::finish() {
  if (stopped()) return Checked<FileNode>::reject(std::move(findings_));
  return Checked<FileNode>::accept(std::move(root_), std::move(findings_));
}

}  // namespace refrain::config
