#include "config/rules/graph_words.h"

#include "config/scan.h"

namespace refrain::config {
std::vector<std::string> words_of(const std::optional<WordList>& list) {
  if (!list) return {};
  if (!list->is_text) return list->words;
  const std::string& text = list->words.at(0);
  std::vector<std::string> words;
  size_t begin = 0;
  for (size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', begin)) {
    words.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  words.push_back(text.substr(begin));
  return words;
}

std::vector<std::string> graph_words(const Knobs& k, const Context& s) {
  const auto& list = names_modules(s) ? k.cuda_graph_modules : k.cuda_graph_scope;
  if (list && names_modules(s) && names_nothing(*list)) return {};
  return words_of(list);
}

bool captures(const Knobs& k, const Context& s, std::string_view module) {
  return contains(graph_words(k, s), module);
}

bool captures_nothing_named(const Knobs& k, const Context& s) { return graph_words(k, s).empty(); }

bool captures_whole(const Knobs& k, const Context& s) {
  return captures_nothing_named(k, s) || captures(k, s, kStep) || k.cuda_graph_impl == kStep;
}

bool captures_something(const Knobs& k) { return k.cuda_graph_impl != "none"; }

bool per_layer(const Knobs& k, const Context& s) {
  if (!names_modules(s)) return captures_something(k);
  return k.cuda_graph_impl == "local" || k.cuda_graph_impl == "transformer_engine";
}

std::vector<Remedy> graphs_off(const Knobs& k, const Context& s) {
  Remedy off = setting(
      "cuda_graph_impl=none",
      {{"cuda_graph_impl", "none"}, {"enable_cuda_graph", false}, {"external_cuda_graph", false}});
  const auto set = [&](std::string_view knob, Value value) {
    off.set.push_back({std::string(knob), std::move(value), {}, false});
  };
  // Words that are left behind would do nothing, or turn graphs on again.
  std::vector<std::string> words = graph_words(k, s);
  std::erase(words, kWholeLayer);
  if (!words.empty())
    set(names_modules(s) ? "cuda_graph_modules" : "cuda_graph_scope", Value::array());
  if (names_modules(s)) {
    set("cuda_graph_scope", nullptr);
    set("inference_cuda_graph_scope", nullptr);
  }
  return {off};
}

}  // namespace refrain::config
