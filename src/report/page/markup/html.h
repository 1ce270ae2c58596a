// HTML as values. Plain text is escaped when it becomes Html, and nothing else becomes Html, so
// what a user typed (a model's path, say) can show on a page but never act in it.
//
// The markup is well-formed XML as well, raw texts (style, script) apart: a reader that knows XML
// can check that every element is closed.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::report {

struct Attribute {
  std::string_view name;
  std::string value;  // plain text
};
using Attributes = std::vector<Attribute>;

class Html {
 public:
  Html() = default;

  /// Plain text. Bytes that are no UTF-8 and control characters become U+FFFD.
  static Html text(std::string_view plain);

  /// <name attributes>content</name>; a void element (meta, input) where the content is left out.
  static Html element(std::string_view name, const Attributes& attributes, const Html& content);
  static Html element(std::string_view name, const Attributes& attributes,
                      std::initializer_list<Html> content);
  static Html element(std::string_view name, const Attributes& attributes);

  /// A <style> or <script> with a text of our own (RC_CHECK: it does not end the element).
  static Html raw_text(std::string_view name, std::string_view text);
  /// JSON for a script to read: <script type="application/json" id="...">.
  static Html json(const std::string& id, const nlohmann::ordered_json& value);

  Html& operator+=(const Html& more);

  const std::string& markup() const { return markup_; }

 private:
  explicit Html(std::string markup) : markup_(std::move(markup)) {}

  std::string markup_;
};

}  // namespace refrain::report
