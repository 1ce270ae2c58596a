// JSON by nlohmann's event reader, which does not recurse. It knows no lines but for an error.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "config/inputs/trees/file_tree.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

/// Receives nlohmann's events; false ends the reading.
class JsonEvents {
 public:
  JsonEvents(std::string_view text, TreeBuilder& tree) : text_(text), tree_(tree) {}

  bool null() { return leaf(nullptr, "null"); }
  bool boolean(bool value) { return leaf(value, value ? "true" : "false"); }
  bool number_integer(int64_t value) { return leaf(value, fmt::format("{}", value)); }
  bool number_unsigned(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return out_of_range(fmt::format("{}", value));
    }
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string& text) {
    // A whole number that does not fit comes here as well.
    if (text.find_first_of(".eE") == std::string::npos) return out_of_range(text);
    return leaf(value, text);
  }
  bool string(std::string& text) { return leaf(text, text); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // not in JSON text
  bool start_object(size_t) { return begin(FileNode::Kind::kMap); }
  bool key(std::string& text) { return leaf(text, text); }
  bool end_object() { return end(); }
  bool start_array(size_t) { return begin(FileNode::Kind::kList); }
  bool end_array() { return end(); }

  bool parse_error(size_t position, const std::string& last, const nlohmann::json::exception&) {
    const size_t bytes = std::min(position, text_.size());
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(bytes);
    const auto line = std::count(text_.begin(), end, '\n') + 1;
    tree_.complain("malformed", static_cast<int>(line),
                   fmt::format("the file must be valid JSON: it is not at {}", in_quotes(last)),
                   "correct it there, or shortly before");
    return false;
  }

 private:
  bool leaf(Value value, std::string text) {
    FileNode node;
    node.scalar = std::move(value);
    node.text = std::move(text);
    tree_.scalar(std::move(node));
    return !tree_.stopped();
  }
  bool begin(FileNode::Kind kind) {
    tree_.begin(kind, 0);
    return !tree_.stopped();
  }
  bool end() {
    tree_.end();
    return !tree_.stopped();
  }
  bool out_of_range(const std::string& text) {
    tree_.complain("number-range", 0,
                   fmt::format("a number must fit into 64 bits: {}", in_quotes(text)),
                   "write a number that fits");
    return false;
  }

  std::string_view text_;
  TreeBuilder& tree_;
};

}  // namespace

Checked<FileNode> read_json_tree(std::string_view text, std::string_view name) {
  TreeBuilder tree(name);
  JsonEvents events(text, tree);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  return tree.finish();
}

}  // namespace refrain::config
