#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

#include "config/scan.h"

namespace refrain::cli {
namespace {

using config::in_quotes;

/// "--steps" of "--steps,--rounds".
std::string first_name(std::string_view names) {
  return std::string(names.substr(0, names.find(',')));
}

/// "recompute_modules" of "--recompute-modules": how a knob is written before an equals sign.
std::string knob_name(std::string_view flag) {
  std::string name = first_name(flag).substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// --like_this as --like-this; values and what stands after an equals sign stay as they are.
std::string dashed(std::string argument) {
  if (!argument.starts_with("--")) return argument;
  const auto end =
      argument.begin() + static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size()));
  std::replace(argument.begin(), end, '_', '-');
  return argument;
}

/// Values of a list flag as separate words: brackets, quotes, commas and blanks taken away.
std::vector<std::string> list_words(const std::vector<std::string>& values) {
  std::string text = config::joined(values, ",");
  for (char& c : text) {
    if (std::string_view("[]\"' \t").find(c) != std::string_view::npos) c = ',';
  }
  std::vector<std::string> words = config::split(text, ',');
  std::erase(words, "");
  return words;
}

bool is_null(const std::vector<std::string>& words) {
  return words.size() == 1 && (words[0] == "null" || words[0] == "None");
}

std::optional<Finding> not_a_number(const FlagText& flag, const std::string& value,
                                    std::string_view kind) {
  return Finding{"cli.not-a-number",
                 fmt::format("{} must be {}: {}", first_name(flag.name), kind, in_quotes(value)),
                 fmt::format("write {} {}", first_name(flag.name), flag.value)};
}

}  // namespace

void CommandLine::add_value(const FlagText& flag, std::string default_text,
                            std::function<std::optional<Finding>(const std::string&)> read) {
  flags_.push_back({flag, group_, std::move(default_text), Kind::kValue, false,
                    [read = std::move(read), name = first_name(flag.name)](
                        const std::vector<std::string>& values) -> std::optional<Finding> {
                      if (!values[0].empty() && !values[0].starts_with("--")) {
                        return read(values[0]);
                      }
                      return Finding{"cli.missing-value",
                                     fmt::format("{} must be followed by its value: {}", name,
                                                 in_quotes(values[0])),
                                     "give the value, or leave the flag out"};
                    }});
}

void CommandLine::add(const FlagText& flag, int64_t& target) {
  add_value(flag, fmt::format("{}", target),
            [flag, &target](const std::string& value) -> std::optional<Finding> {
              const auto number = config::parse_whole(value);
              if (!number) return not_a_number(flag, value, "a whole number");
              target = *number;
              return {};
            });
}

void CommandLine::add(const FlagText& flag, uint64_t& target) {
  add_value(flag, fmt::format("{}", target),
            [flag, &target](const std::string& value) -> std::optional<Finding> {
              const auto number = config::parse_unsigned(value);
              if (!number) return not_a_number(flag, value, "a whole number, 0 or more");
              target = *number;
              return {};
            });
}

void CommandLine::add(const FlagText& flag, double& target) {
  add_value(flag, fmt::format("{}", target),
            [flag, &target](const std::string& value) -> std::optional<Finding> {
              const auto number = config::parse_real(value);
              if (!number) return not_a_number(flag, value, "a number");
              target = *number;
              return {};
            });
}

void CommandLine::add(const FlagText& flag, std::string& target) {
  add_value(flag, target, [&target](const std::string& value) -> std::optional<Finding> {
    target = value;
    return {};
  });
}

void CommandLine::add(const FlagText& flag, std::optional<int64_t>& target) {
  add_value(flag, "", [flag, &target](const std::string& value) -> std::optional<Finding> {
    target = config::parse_whole(value);
    if (!target) return not_a_number(flag, value, "a whole number");
    return {};
  });
}

void CommandLine::add(const FlagText& flag, std::optional<double>& target) {
  add_value(flag, "", [flag, &target](const std::string& value) -> std::optional<Finding> {
    target = config::parse_real(value);
    if (!target) return not_a_number(flag, value, "a number");
    return {};
  });
}

void CommandLine::add(const FlagText& flag, std::optional<std::string>& target) {
  add_value(flag, "", [&target](const std::string& value) -> std::optional<Finding> {
    target = value;
    return {};
  });
}

void CommandLine::add_switch(const FlagText& flag, bool& target) {
  flags_.push_back({flag, group_, "", Kind::kSwitch, false,
                    [&target](const std::vector<std::string>&) -> std::optional<Finding> {
                      target = true;
                      return {};
                    }});
}

void CommandLine::add_named(const FlagText& flag, std::string default_text,
                            std::map<std::string, std::function<void()>> choices) {
  std::vector<std::string> names;
  for (const auto& [name, choose] : choices) names.push_back(name);
  add_value(flag, std::move(default_text),
            [names, choices = std::move(choices),
             name = first_name(flag.name)](const std::string& value) -> std::optional<Finding> {
              const auto found = choices.find(value);
              if (found != choices.end()) return found->second(), std::nullopt;
              const auto near = nearest(value, names);
              return Finding{"cli.unknown-choice",
                             fmt::format("{} must be one of {}: {}", name, config::joined(names),
                                         in_quotes(value)),
                             near ? fmt::format("did you mean {}?", *near)
                                  : fmt::format("use {}", config::joined(names, " | "))};
            });
}

void CommandLine::add_knob(const FlagText& flag, std::optional<std::string>& target) {
  add(flag, target);
  flags_.back().knob = true;
}

void CommandLine::add_list_knob(const FlagText& flag,
                                std::optional<std::vector<std::string>>& target) {
  flags_.push_back({flag, group_, "", Kind::kList, true,
                    [&target](const std::vector<std::string>& values) -> std::optional<Finding> {
                      std::vector<std::string> words = list_words(values);
                      if (!is_null(words)) target = std::move(words);
                      return {};
                    }});
}

/// One reading: CLI11 cuts the arguments into flags and values; what they mean is told by `flags_`.
class CommandLine::Parser {
 public:
  explicit Parser(CommandLine& line)
      : line_(line), app_(std::string(line.text_.summary), std::string(line.text_.name)) {
    app_.allow_extras();
    app_.set_help_flag("-h,--help", "print this help");
    app_.footer("Examples:\n" + std::string(line.text_.examples));
    app_.get_formatter()->column_width(36);
    values_.resize(line.flags_.size());
    for (size_t i = 0; i < line.flags_.size(); ++i) declare(line.flags_[i], values_[i]);
  }

  Reading read(const std::vector<std::string>& arguments) {
    std::vector<std::string> reversed;  // the order in which CLI11 wants them
    for (const std::string& argument : arguments) reversed.push_back(dashed(argument));
    std::reverse(reversed.begin(), reversed.end());
    try {
      app_.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
      return {app_.help(), {}};
    } catch (const CLI::ParseError& error) {
      return {{}, {malformed(error)}};
    }
    take_overrides_out_of_lists();
    read_extras();
    for (size_t i = 0; i < values_.size(); ++i) read_flag(line_.flags_[i], values_[i]);
    return {{}, std::move(findings_)};
  }

 private:
  using Values = std::vector<std::vector<std::string>>;  // of each occurrence

  void declare(const Flag& flag, Values& values) {
    std::string help(flag.text.help);
    if (!flag.default_text.empty()) help += fmt::format(" [{}]", flag.default_text);
    CLI::Option* option = nullptr;
    const std::string names(flag.text.name);
    if (flag.kind == Kind::kSwitch) {
      option = app_.add_flag_callback(
          names, [&values] { values.push_back({}); }, help);
    } else {
      option = app_.add_option(
          names,
          [&values, &flag](const CLI::results_t& results) {
            if (flag.kind == Kind::kList) {
              values.push_back(results);
            } else {
              for (const std::string& result : results) values.push_back({result});
            }
            return true;
          },
          help);
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
      option->type_name(std::string(flag.text.value));
      if (flag.kind == Kind::kList) option->expected(0, -1)->allow_extra_args(true);
    }
    option->group(flag.group);
  }

  Finding malformed(const CLI::ParseError& error) const {
    return {"cli.malformed", fmt::format("the command line must be readable: {}", error.what()),
            fmt::format("see {} --help", line_.text_.name)};
  }

  /// A list flag takes every word up to the next flag, so also overrides that stand after it.
  void take_overrides_out_of_lists() {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (line_.flags_[i].kind != Kind::kList) continue;
      for (auto& words : values_[i]) {
        for (const std::string& word : words) {
          if (word.find('=') != std::string::npos) extras_.push_back(word);
        }
        std::erase_if(words, [](const std::string& w) { return w.find('=') != w.npos; });
      }
    }
  }

  void read_extras() {
    for (const std::string& extra : app_.remaining()) extras_.push_back(extra);
    bool after_unknown_flag = false;
    for (const std::string& extra : extras_) {
      if (extra.starts_with("-") && extra.size() > 1) {
        complain_of_flag(extra.substr(0, extra.find('=')));
        after_unknown_flag = extra.find('=') == std::string::npos;
        continue;
      }
      if (extra.find('=') != std::string::npos) {
        read_override(extra);
      } else if (!after_unknown_flag) {  // else it is that flag's value
        findings_.push_back(
            {"cli.unexpected-argument",
             fmt::format("an argument must be a flag, a flag's value or knob=value: "
                         "{}",
                         in_quotes(extra)),
             fmt::format("see {} --help", line_.text_.name)});
      }
      after_unknown_flag = false;
    }
  }

  void complain_of_flag(const std::string& flag) {
    std::vector<std::string> names = {"--help"};
    for (const Flag& known : line_.flags_) {
      for (const std::string& name : config::split(known.text.name, ',')) names.push_back(name);
    }
    const auto near = nearest(flag, names);
    findings_.push_back({"cli.unknown-flag",
                         fmt::format("{} has no such flag: {}", line_.text_.name, in_quotes(flag)),
                         near ? fmt::format("did you mean {}?", *near)
                              : fmt::format("see {} --help", line_.text_.name)});
  }

  void read_override(const std::string& text) {
    const size_t equals = text.find('=');
    std::string key(text, 0, equals);
    for (const std::string_view prefix : {"++", "+", "cfg.", "model."}) {
      if (key.starts_with(prefix)) key.erase(0, prefix.size());
    }
    std::vector<std::string> known;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!line_.flags_[i].knob) continue;
      known.push_back(knob_name(line_.flags_[i].text.name));
      if (key == known.back()) return values_[i].push_back({text.substr(equals + 1)});
    }
    const auto near = nearest(key, known);
    findings_.push_back({"cli.unknown-override",
                         fmt::format("{} has no such knob: {}", line_.text_.name, in_quotes(text)),
                         near            ? fmt::format("did you mean {}=...?", *near)
                         : known.empty() ? fmt::format("see {} --help", line_.text_.name)
                                         : fmt::format("knobs are {}", config::joined(known))});
  }

  void read_flag(const Flag& flag, const Values& values) {
    if (values.size() > 1) {
      findings_.push_back({"cli.given-twice",
                           fmt::format("a flag must be given once: {} is there {} times",
                                       first_name(flag.text.name), values.size()),
                           "keep the one you mean"});
    } else if (!values.empty()) {
      if (auto finding = flag.read(values[0])) findings_.push_back(*std::move(finding));
    }
  }

  CommandLine& line_;
  CLI::App app_;
  std::vector<Values> values_;  // of each flag
  std::vector<std::string> extras_;
  Findings findings_;
};

Reading CommandLine::read(const std::vector<std::string>& arguments) {
  return Parser(*this).read(arguments);
}

}  // namespace refrain::cli
