// A configuration file as a tree, whichever language it is written in, built within limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/finding.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

struct FileNode {
  enum class Kind : uint8_t { kScalar, kList, kMap };

  Kind kind = Kind::kScalar;
  int line = 0;  // from 1; 0 where the reader does not know
  Value scalar;
  std::string text;               // a scalar as written
  std::vector<std::string> keys;  // of a map, one an item
  std::vector<FileNode> items;    // of a list or map
};

/// The item of that name; null where `map` is none or has none.
const FileNode* find_item(const FileNode& map, std::string_view key);

/// The node as one value; maps are objects.
Value value_of(const FileNode& node);

/// Puts a tree together from a reader's events: scalars, and begin and end of lists and maps. In a
/// map, every other node is a key. More than 100,000 nodes or 64 levels are a finding
/// `file.too-many-values` or `file.too-deep`; a key that is there again is a note
/// `file.duplicate-key`, and the last one counts.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::string_view name) : name_(name) {}

  void scalar(FileNode leaf);
  void begin(FileNode::Kind kind, int line);
  void end();
  /// Adds a copy of a node that was complete before.
  void copy(const FileNode& node, int line);

  /// Counts a copy that somebody keeps of `node` against the limit.
  void charge(const FileNode& node, int line);

  /// The node that was added or ended last; null where it was a key.
  const FileNode* last() const { return last_; }
  /// True where a finding ended it; whatever comes then is left out.
  bool stopped() const { return stopped_; }

  /// `line` 0 where it is not known.
  void complain(std::string_view rule, int line, std::string message, std::string remedy,
                Severity severity = Severity::kError);

  /// The root; null where the document is empty.
  Checked<FileNode> finish();

 private:
  struct Frame {
    FileNode node;
    std::optional<std::string> key;                 // that waits for its value
    std::unordered_map<std::string, size_t> index;  // of the items by key
  };

  bool has_room(size_t nodes, size_t levels, int line);
  void place(FileNode node);
  void place_in_map(Frame& frame, FileNode node);

  std::string_view name_;
  std::vector<Frame> open_;
  FileNode root_;
  const FileNode* last_ = nullptr;
  size_t num_nodes_ = 0;
  bool stopped_ = false;
  Findings findings_;
};

/// Read JSON and YAML text into a tree; `name` is the file's, for findings. `file.malformed` where
/// the text is not what it should be, `file.number-range` beyond 64 bits. YAML: scalars as
/// plain_scalar types them; anchors, aliases and one document only (`file.several-documents`,
/// `file.alias`).
Checked<FileNode> read_json_tree(std::string_view text, std::string_view name);
Checked<FileNode> read_yaml_tree(std::string_view text, std::string_view name);

}  // namespace refrain::config
