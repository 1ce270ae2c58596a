#include "report/page/markup/html.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace refrain::report {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kReplacement = "\uFFFD";

/// As valid UTF-8: the JSON writer replaces what is not.
std::string as_utf8(std::string_view plain) {
  const std::string quoted =
      ordered_json(plain).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return ordered_json::parse(quoted).get<std::string>();
}

bool is_c0_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7F;
}

/// U+0080 to U+009F, which stand as C2 80 to C2 9F.
bool is_c1_control(std::string_view rest) {
  return rest.size() >= 2 && rest[0] == '\xC2' && static_cast<unsigned char>(rest[1]) < 0xA0;
}

std::string escaped(std::string_view plain) {
  const std::string text = as_utf8(plain);
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (c == '\'') {
      result += "&#39;";
    } else if (is_c0_control(c)) {
      result += kReplacement;
    } else if (is_c1_control(std::string_view(text).substr(i))) {
      result += kReplacement;
      ++i;
    } else {
      result += c;
    }
  }
  return result;
}

std::string opening(std::string_view name, const Attributes& attributes) {
  std::string tag = fmt::format("<{}", name);
  for (const Attribute& a : attributes) {
    fmt::format_to(std::back_inserter(tag), " {}=\"{}\"", a.name, escaped(a.value));
  }
  return tag;
}

}  // namespace

Html Html::text(std::string_view plain) { return Html(escaped(plain)); }

Html Html::element(std::string_view name, const Attributes& attributes, const Html& content) {
  return Html(fmt::format("{}>{}</{}>", opening(name, attributes), content.markup(), name));
}

Html Html::element(std::string_view name, const Attributes& attributes,
                   std::initializer_list<Html> content) {
  Html joined;
  for (const Html& part : content) joined += part;
  return element(name, attributes, joined);
}

Html Html::element(std::string_view name, const Attributes& attributes) {
  return Html(opening(name, attributes) + " />");
}

Html Html::raw_text(std::string_view name, std::string_view text) {
  RC_CHECK(text.find("</") == std::string_view::npos, "a {} may not hold </", name);
  return Html(fmt::format("\n<{0}>\n{1}</{0}>\n", name, text));
}

// A JSON string may spell any character by its number, so none needs to stand that HTML reads.
Html Html::json(const std::string& id, const ordered_json& value) {
  const std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return Html(fmt::format("\n{}>\n{}\n</script>\n",
                          opening("script", {{"type", "application/json"}, {"id", id}}), safe));
}

Html& Html::operator+=(const Html& more) {
  markup_ += more.markup_;
  return *this;
}

}  // namespace refrain::report
