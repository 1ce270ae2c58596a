#include "config/inputs/flags/flags.h"

#include <fmt/format.h>

#include "config/inputs/flags/flag_effects.h"
#include "config/inputs/overrides/overrides.h"
#include "config/inputs/values/reading.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostWords = 5000;

/// How many words a flag takes at most.
size_t most_words(const FlagRow* row) {
  if (row == nullptr) return kMostWords;
  switch (row->kind) {
    case FlagKind::kSwitch:
    case FlagKind::kOff:
    case FlagKind::kNotAKnobSwitch:
    case FlagKind::kGone:
      return 0;
    case FlagKind::kWords:
    case FlagKind::kCommaWords:
    case FlagKind::kNotAKnobWords:
      return kMostWords;
    default:
      return 1;
  }
}

class CommandWords {
 public:
  CommandWords(const std::vector<std::string>& words, FlagReleases releases)
      : words_(words), effects_(releases) {}

  Checked<Assignments> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (auto finding = not_text({"flag", word})) {
        effects_.add(*std::move(finding));
      } else if (is_flag(word)) {
        take_flag(word);
      } else if (is_override(word)) {
        effects_.add(parse_override(word));
      } else {
        effects_.add(unexpected(word));
      }
    }
    return effects_.finish();
  }

 private:
  void take_flag(const std::string& word) {
    const size_t equals = word.find('=');
    FlagUse use{word.substr(0, equals), {}, {Origin::kFlag, word}};
    if (equals != std::string::npos) {
      use.words.push_back(word.substr(equals + 1));
    } else {
      take_words(use);
    }
    effects_.add(use);
  }

  void take_words(FlagUse& use) {
    const FlagRow* row = find_flag(use.flag);
    const bool takes_any = row != nullptr && row->kind == FlagKind::kNotAKnob;  // -E KEY=VALUE
    while (at_ < words_.size() && use.words.size() < most_words(row)) {
      const std::string& word = words_[at_];
      if (is_flag(word) || first_bad_byte(word) || (is_override(word) && !takes_any)) return;
      use.words.push_back(word);
      use.source.place += " " + word;
      ++at_;
    }
  }

  static Finding unexpected(const std::string& word) {
    return {"flag.unexpected-word",
            fmt::format("a word must be a flag, a flag's value or knob=value: {}", in_quotes(word)),
            "write --knob VALUE or knob=VALUE; files stand before all of these"};
  }

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  FlagEffects effects_;
};

}  // namespace

Checked<Assignments> parse_flags(const std::vector<std::string>& words, FlagReleases releases) {
  if (words.size() <= kMostWords) return CommandWords(words, releases).read();
  return Checked<Assignments>::reject(
      {{"flag.too-many-words",
        fmt::format("a command line must have {} words at most: {}", kMostWords, words.size()),
        "put the knobs into a file"}});
}

bool is_flag(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const char next = word[1];
  return next != '.' && !(next >= '0' && next <= '9');
}

}  // namespace refrain::config
