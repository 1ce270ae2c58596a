// The flags of one command: declared one line each, read all at once, every complaint a Finding.
//
// A flag is written --like-this or --like_this. One that is declared as a knob may also be written
// like Megatron-Bridge's overrides, knob=value, with or without "model." or "cfg.model." before it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "config/scan.h"

namespace refrain::cli {

struct FlagText {
  std::string_view name;   // "--micro-batch"; further names after commas: "--steps,--rounds"
  std::string_view value;  // what stands after it in the help: "N"
  std::string_view help;
};

struct CommandText {
  std::string_view name;  // "refrain ledger"
  std::string_view summary;
  std::string_view examples;  // whole lines
};

/// What came of reading: the help that was asked for, or findings (none: every target is set).
struct Reading {
  std::optional<std::string> help;
  Findings findings;
};

class CommandLine {
 public:
  explicit CommandLine(const CommandText& text) : text_(text) {}

  /// Flags declared from here on stand under this title in the help.
  void group(std::string_view title) { group_ = title; }

  // Each sets its target while `read` runs. A target that already holds something is the default
  // and is shown as such. Targets must outlive the CommandLine.
  void add(const FlagText& flag, int64_t& target);
  void add(const FlagText& flag, uint64_t& target);
  void add(const FlagText& flag, double& target);
  void add(const FlagText& flag, std::string& target);
  void add(const FlagText& flag, std::optional<int64_t>& target);
  void add(const FlagText& flag, std::optional<double>& target);
  void add(const FlagText& flag, std::optional<std::string>& target);
  void add_switch(const FlagText& flag, bool& target);

  /// One of `all`, by its to_text.
  template <class Choice>
  void add_choice(const FlagText& flag, Choice& target, const std::vector<Choice>& all);
  /// One of `all`, or "both" for all of them.
  template <class Choice>
  void add_choices(const FlagText& flag, std::vector<Choice>& target,
                   const std::vector<Choice>& all);

  /// Knobs: flags that may also be written knob=value.
  void add_knob(const FlagText& flag, std::optional<std::string>& target);
  /// A list: several values, commas, brackets; "null" is absent, "[]" is there and empty.
  void add_list_knob(const FlagText& flag, std::optional<std::vector<std::string>>& target);

  /// Reads what stands after the command's name.
  Reading read(const std::vector<std::string>& arguments);

 private:
  enum class Kind { kValue, kSwitch, kList };
  struct Flag {
    FlagText text;
    std::string group;
    std::string default_text;
    Kind kind = Kind::kValue;
    bool knob = false;
    /// Reads one occurrence; the complaint, if any.
    std::function<std::optional<Finding>(const std::vector<std::string>&)> read;
  };
  class Parser;

  void add_value(const FlagText& flag, std::string default_text,
                 std::function<std::optional<Finding>(const std::string&)> read);
  void add_named(const FlagText& flag, std::string default_text,
                 std::map<std::string, std::function<void()>> choices);

  CommandText text_;
  std::string group_ = "Options";
  std::vector<Flag> flags_;
};

template <class Choice>
void CommandLine::add_choice(const FlagText& flag, Choice& target, const std::vector<Choice>& all) {
  std::map<std::string, std::function<void()>> choices;
  for (const Choice choice : all) {
    choices[std::string(to_text(choice))] = [&target, choice] { target = choice; };
  }
  add_named(flag, std::string(to_text(target)), std::move(choices));
}

template <class Choice>
void CommandLine::add_choices(const FlagText& flag, std::vector<Choice>& target,
                              const std::vector<Choice>& all) {
  std::map<std::string, std::function<void()>> choices;
  for (const Choice choice : all) {
    choices[std::string(to_text(choice))] = [&target, choice] { target = {choice}; };
  }
  choices["both"] = [&target, all] { target = all; };
  std::vector<std::string> names;
  for (const Choice choice : target) names.emplace_back(to_text(choice));
  add_named(flag, config::joined(names, ","), std::move(choices));
}

}  // namespace refrain::cli
