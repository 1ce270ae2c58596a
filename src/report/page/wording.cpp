#include "report/page/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace refrain::report {
namespace {

Html data(const std::string& value, const std::string& shown) {
  return Html::element("data", {{"value", value}}, Html::text(shown));
}

/// "0.118", "2.60", "602".
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

}  // namespace

std::string time_text(double seconds) {
  if (seconds == 0) return "0";
  if (seconds < 1) return three_digits(1e3 * seconds) + " ms";
  if (seconds < 300) return three_digits(seconds) + " s";
  if (seconds < 7200) return three_digits(seconds / 60) + " min";
  return three_digits(seconds / 3600) + " h";
}

double overhead_of(const StepCost& cost) {
  const double rest_s = cost.step_s - cost.replay_s;
  return rest_s > 0 ? cost.replay_s / rest_s : 0;
}

std::string overhead_text(const StepCost& cost) {
  return fmt::format("+{:.1f} %", 100 * overhead_of(cost));
}

std::string gap_text(double gap) {
  return gap == 0 ? "proven least" : fmt::format("within {:.2f} % of the least", 100 * gap);
}

std::string account_text(std::string_view account) {
  std::string text(account);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string layers_text(const LayerGroup& group) {
  return group.first == group.last ? fmt::format("layer {}", group.first)
                                   : fmt::format("layers {} to {}", group.first, group.last);
}

Html bytes_data(Bytes bytes) { return data(fmt::format("{}", bytes.count()), to_text(bytes)); }

Html time_data(double seconds) { return data(fmt::format("{}", seconds), time_text(seconds)); }

Html overhead_data(const StepCost& cost) {
  return data(fmt::format("{}", cost.replay_s), overhead_text(cost));
}

std::string grouped(int64_t number) {
  std::string digits = fmt::format("{}", number);
  const size_t first = digits[0] == '-' ? 2 : 1;  // no comma before the first digit
  for (size_t at = digits.size(); at > first + 2;) digits.insert(at -= 3, ",");
  return digits;
}

Html number_cell(const Html& content) {
  return Html::element("td", {{"class", "number"}}, content);
}

Html heading_cell(std::string_view text, bool number) {
  Attributes attributes = {{"scope", "col"}};
  if (number) attributes.push_back({"class", "number"});
  return Html::element("th", attributes, Html::text(text));
}

Html fold(std::string_view summary, const Html& content, const std::string& class_name) {
  return Html::element("details", {{"class", class_name}},
                       {Html::element("summary", {}, Html::text(summary)), content});
}

Html table(std::string_view caption, const Html& head, const Html& body,
           const std::string& class_name) {
  Attributes attributes;
  if (!class_name.empty()) attributes.push_back({"class", class_name});
  return Html::element("div", {{"class", "scrolls"}},
                       Html::element("table", attributes,
                                     {Html::element("caption", {}, Html::text(caption)),
                                      Html::element("thead", {}, Html::element("tr", {}, head)),
                                      Html::element("tbody", {}, body)}));
}

std::string css_percent(std::string_view property, double share) {
  return fmt::format("{}:{:.2f}%", property, 100 * share);
}

}  // namespace refrain::report
