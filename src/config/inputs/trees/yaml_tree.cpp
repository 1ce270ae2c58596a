// YAML by yaml-cpp's event reader.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <unordered_map>

#include "config/inputs/trees/file_tree.h"
#include "config/inputs/trees/yaml_scalar.h"
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
    PlainScalar plain = plain_scalar(node.text);
    if (!plain.fits) {
      return tree_.complain("number-range", node.line,
                            fmt::format("a number must fit into 64 bits: {}", in_quotes(node.text)),
                            "write a number that fits, or quote the text");
    }
    node.scalar = std::move(plain.value);
    if (!plain.remark) return;
    tree_.complain(plain.remark->rule, node.line, std::move(plain.remark->message),
                   std::move(plain.remark->remedy), Severity::kNote);
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

/// True where the line, from 0, is indented with a tab.
bool has_tab_before(std::string_view text, int line) {
  for (; line > 0; --line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  const size_t first = text.find_first_not_of(" \t");
  return text.substr(0, first).find('\t') != std::string_view::npos;
}

void complain_of_yaml(std::string_view text, const YAML::Exception& error, TreeBuilder& tree) {
  const bool has_tab = has_tab_before(text, error.mark.line);
  tree.complain("malformed", line_of(error.mark),
                fmt::format("the file must be valid YAML: {}",
                            has_tab ? "a tab must not indent" : in_quotes(error.msg)),
                has_tab ? "indent with blanks" : "correct it there, or shortly before");
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
    complain_of_yaml(text, error, tree);
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
