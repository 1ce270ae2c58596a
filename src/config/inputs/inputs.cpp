#include "config/inputs/inputs.h"

#include <filesystem>

#include "config/inputs/files/config_file.h"
#include "config/inputs/flags/flags.h"
#include "config/inputs/overrides/overrides.h"

namespace refrain::config {
namespace {

bool names_file(const std::string& word) {
  if (word.empty() || is_flag(word)) return false;
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored)) return true;
  if (is_override(word)) return false;
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

void append(Checked<Assignments> more, Checked<Assignments>& all) {
  all.findings.insert(all.findings.end(), more.findings.begin(), more.findings.end());
  if (more.value) all.value->insert(all.value->end(), more.value->begin(), more.value->end());
}

}  // namespace

Checked<Assignments> read_words(const std::vector<std::string>& words, FlagReleases releases) {
  Checked<Assignments> all = Checked<Assignments>::accept({});
  auto word = words.begin();
  for (; word != words.end() && names_file(*word); ++word) {
    append(read_config_file(*word, releases), all);
  }
  append(parse_flags({word, words.end()}, releases), all);
  if (rejects(all.findings)) all.value.reset();
  return all;
}

}  // namespace refrain::config
