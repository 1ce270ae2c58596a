// YAML by yaml-cpp's event reader. Plain scalars are typed by the core schema of YAML 1.2, section
// 10.3.2, which is what OmegaConf and yq do with true and false; yes and no are text there.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <unordered_map>

#include "config/inputs/file_tree.h"
#include "config/inputs/literal.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

// yaml-cpp keeps a token of 100 bytes for every bracket and comma of a line, before it knows
// whether what they belong to is a key.
constexpr int kMostOpenBrackets = 1000;
constexpr int kMostMarks = 400'000;

/// Thrown through yaml-cpp, which has no other way to be ended.
struct Stop {};

int line_of(const YAML::Mark& mark) { return mark.line + 1; }

bool is_one_of(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<int64_t> whole_number(std::string_view digits, int base) {
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool is_digits(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

/// A number as the core schema writes it: 0o17, 0x1f, -007, 1.5e3. Null where the text is none.
struct CoreNumber {
  bool is_number = false;
  Value value;  // null where it does not fit
};

CoreNumber core_number(std::string_view text) {
  const std::string_view unsigned_text = text.substr(text.starts_with('+') ? 1 : 0);
  const bool has_sign = text.starts_with('+') || text.starts_with('-');
  int base = 0;
  std::string_view digits = unsigned_text;
  if (is_digits(text.substr(has_sign ? 1 : 0), "0123456789")) {
    base = 10;
  } else if (text.starts_with("0x") && is_digits(text.substr(2), "0123456789abcdefABCDEF")) {
    base = 16;
    digits = text.substr(2);
  } else if (text.starts_with("0o") && is_digits(text.substr(2), "01234567")) {
    base = 8;
    digits = text.substr(2);
  }
  if (base != 0) {
    const auto whole = whole_number(digits, base);
    return {true, whole ? Value(*whole) : Value()};
  }
  if (text.find('_') != std::string_view::npos) return {};
  if (number_shape(text) != NumberShape::kReal) return {};
  const auto real = parse_real(unsigned_text);
  return {true, real ? Value(*real) : Value()};
}

class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(TreeBuilder& tree) : tree_(tree) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++num_documents_ == 1) return;
    tree_.complain("several-documents", line_of(mark), "a file must hold one YAML document",
                   "keep the one you mean");
    throw Stop();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    leaf({.line = line_of(mark), .text = "null"}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      tree_.complain("alias", line_of(mark), "an alias must stand after the end of what it names",
                     "write the value out");
    } else {
      tree_.copy(found->second, line_of(mark));
    }
    stop_if_full();
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    FileNode node{.line = line_of(mark), .scalar = text, .text = text};
    const bool is_plain =
        tag == "?" || is_one_of(tag, {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float",
                                      "tag:yaml.org,2002:bool"});
    if (is_plain) type_plain(node);
    leaf(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(FileNode::Kind::kList, mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(FileNode::Kind::kMap, mark, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  void leaf(FileNode node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchored_[anchor] = node;
    tree_.scalar(std::move(node));
    stop_if_full();
  }

  void begin(FileNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    anchors_.push_back(anchor);
    tree_.begin(kind, line_of(mark));
    stop_if_full();
  }

  void end() {
    tree_.end();
    stop_if_full();
    const YAML::anchor_t anchor = anchors_.back();
    anchors_.pop_back();
    if (anchor == YAML::NullAnchor || tree_.last() == nullptr) return;
    tree_.charge(*tree_.last(), tree_.last()->line);
    stop_if_full();
    anchored_[anchor] = *tree_.last();
  }

  void type_plain(FileNode& node) {
    const std::string& text = node.text;
    if (is_one_of(text, {"true", "True", "TRUE"})) {
      node.scalar = true;
    } else if (is_one_of(text, {"false", "False", "FALSE"})) {
      node.scalar = false;
    } else if (CoreNumber number = core_number(text); number.is_number) {
      if (number.value.is_null()) return out_of_range(node);
      node.scalar = std::move(number.value);
    } else if (is_one_of(text, {"yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off",
                                "Off", "OFF", "None"})) {
      note_text(node);
    }
  }

  void note_text(const FileNode& node) {
    const bool is_none = node.text == "None";
    tree_.complain("text-not-meant", node.line,
                   fmt::format("{} must be written as YAML 1.2 has it: {} is text",
                               is_none ? "null" : "true and false", in_quotes(node.text)),
                   is_none ? "write null" : "write true or false, or quote the text",
                   Severity::kNote);
  }

  void out_of_range(const FileNode& node) {
    tree_.complain("number-range", node.line,
                   fmt::format("a number must fit into 64 bits: {}", in_quotes(node.text)),
                   "write a number that fits, or quote the text");
  }

  void stop_if_full() {
    if (tree_.stopped()) throw Stop();
  }

  TreeBuilder& tree_;
  int num_documents_ = 0;
  std::vector<YAML::anchor_t> anchors_;  // of the open lists and maps
  std::unordered_map<YAML::anchor_t, FileNode> anchored_;
};

/// Refuses text that yaml-cpp would take much memory for, by such marks alone.
void look_ahead(std::string_view text, TreeBuilder& tree) {
  int num_open = 0;
  int num_marks = 0;
  int line = 1;
  for (const char c : text) {
    const bool opens = c == '[' || c == '{';
    const bool closes = c == ']' || c == '}';
    if (opens || closes || std::string_view(",\"'&*!").find(c) != std::string_view::npos) {
      ++num_marks;
    }
    if (opens) ++num_open;
    if (closes && num_open > 0) --num_open;
    if (c == '\n') ++line;
    if (num_open > kMostOpenBrackets) {
      return tree.complain("too-deep", line,
                           fmt::format("{} brackets at most must be open", kMostOpenBrackets),
                           "close them, or write it flatter");
    }
    if (num_marks > kMostMarks) {
      return tree.complain("too-many-values", line,
                           fmt::format("brackets, commas, quotes, &, * and ! must be {} at "
                                       "most",
                                       kMostMarks),
                           "keep what sets knobs");
    }
  }
}

void read_documents(std::string_view text, YamlEvents& events, TreeBuilder& tree) {
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const Stop&) {
    // What ended it is among the tree's findings.
  } catch (const YAML::Exception& error) {
    tree.complain("malformed", line_of(error.mark),
                  fmt::format("the file must be valid YAML: {}", in_quotes(error.msg)),
                  "correct it there, or shortly before");
  }
}

}  // namespace

Checked<FileNode> read_yaml_tree(std::string_view text, std::string_view name) {
  TreeBuilder tree(name);
  look_ahead(text, tree);
  if (tree.stopped()) return tree.finish();
  YamlEvents events(tree);
  read_documents(text, events, tree);
  return tree.finish();
}

}  // namespace refrain::config
