#include "config/inputs/overrides/overrides.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <utility>

#include "config/inputs/overrides/bridge_path.h"
#include "config/inputs/values/literal.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostBytes = 64 * 1024;
constexpr size_t kMostKnobs = 1000;  // each remembers the whole token

Finding about(std::string_view rule, std::string_view must_hold, std::string_view token,
              std::string remedy) {
  return {fmt::format("override.{}", rule), fmt::format("{}: {}", must_hold, in_quotes(token)),
          std::move(remedy)};
}

/// The token cut into its parts.
struct Parts {
  bool removes = false;
  bool adds = false;
  bool has_value = false;
  std::string_view key, value;
};

Parts parts_of(std::string_view token) {
  Parts parts;
  token = trimmed(token);
  parts.removes = token.starts_with('~');
  parts.adds = token.starts_with('+');
  for (const std::string_view prefix : {"++", "+", "~"}) {
    if (!token.starts_with(prefix)) continue;
    token.remove_prefix(prefix.size());
    break;
  }
  const size_t equals = token.find('=');
  parts.has_value = equals != std::string_view::npos;
  parts.key = trimmed(token.substr(0, equals));
  if (parts.has_value) parts.value = token.substr(equals + 1);
  return parts;
}

/// A path that begins with no part of the configuration is a mistake, unless it is added.
std::optional<Finding> stray(std::string_view token, const Parts& parts) {
  const auto part = unknown_part(parts.key);
  if (!part || parts.adds) return {};
  const auto near = nearest_part(*part);
  return about("unknown-part",
               "the first of several names must be a part of the configuration, such as model",
               token,
               near ? fmt::format("did you mean {}?", *near) : "write model.KNOB, or KNOB alone");
}

/// What is wrong with the token before its value is looked at.
std::optional<Finding> malformed(std::string_view token, const Parts& parts) {
  if (parts.key.empty()) {
    return about("empty-key", "an override must name a knob before its equals sign", token,
                 "write knob=value");
  }
  if (!parts.has_value && !parts.removes) {
    return about("no-value", "an override must be knob=value", token,
                 is_knob_path(parts.key)
                     ? fmt::format("write {0}=VALUE, or ~{0} to take it away", parts.key)
                     : "write knob=value");
  }
  if (!is_knob_path(parts.key)) {
    return about("malformed-key", "a knob's name must be letters, digits, _ and - between dots",
                 token, "write it like model.recompute_modules=[core_attn]");
  }
  return stray(token, parts);
}

/// What is wrong with a dict's key, or with one knob more.
std::optional<Finding> cannot_set(const std::string& key, size_t num_knobs,
                                  std::string_view token) {
  if (!is_knob_path(key)) {
    return about("malformed-key", "a knob's name must be letters, digits, _ and - between dots",
                 key, "correct the key of the dict");
  }
  if (num_knobs >= kMostKnobs) {
    return about("too-many-knobs", "an override must set 1000 knobs at most", token,
                 "put them into a file");
  }
  return {};
}

/// Collects what one token sets.
class TokenEffects {
 public:
  TokenEffects(const Parts& parts, std::string_view token, Findings notes)
      : parts_(parts), reading_{"override", token}, source_{Origin::kOverride, std::string(token)} {
    read_ = Checked<Assignments>::accept({}, std::move(notes));
  }

  Checked<Assignments> take() && { return std::move(read_); }

  void remove(Value expected) {
    read_.value->push_back({knob_name(parts_.key), std::move(expected), source_, true});
  }

  /// Sets the knob at `path`, or one for each key where `value` is a dict; false after an error.
  bool set(const std::string& path, const Value& value) {
    if (!value.is_object()) return set_knob(path, value);
    if (value.empty() && read_.findings.empty()) {
      Finding note = about("empty-dict", "a dict must hold something to have an effect",
                           reading_.typed, "leave it out");
      note.severity = Severity::kNote;
      read_.findings.push_back(std::move(note));
    }
    for (const auto& [key, item] : value.items()) {
      if (auto finding = cannot_set(key, read_.value->size(), reading_.typed)) {
        return fail({*std::move(finding)});
      }
      if (!set(path + "." + key, item)) return false;
    }
    return true;
  }

 private:
  bool set_knob(const std::string& path, const Value& value) {
    Checked<Assignments> here = assignments_at(path, value, source_, reading_);
    if (!here.value) return fail(std::move(here.findings));
    for (Assignment& assignment : *here.value) {
      const bool is_dotted = assignment.knob.find('.') != std::string::npos;
      auto note =
          parts_.adds && !is_dotted ? dropped_addition(assignment.knob, reading_) : std::nullopt;
      if (note) {
        read_.findings.push_back(*std::move(note));
      } else {
        read_.value->push_back(std::move(assignment));
      }
    }
    return true;
  }

  bool fail(Findings findings) {
    std::move(findings.begin(), findings.end(), std::back_inserter(read_.findings));
    read_.value.reset();
    return false;
  }

  const Parts& parts_;
  const Reading reading_;
  const Source source_;
  Checked<Assignments> read_;
};

}  // namespace

Checked<Assignments> parse_override(std::string_view token) {
  const Reading reading{"override", token};
  if (token.size() > kMostBytes) {
    return Checked<Assignments>::reject({about("too-long", "an override must fit into 64 KiB",
                                               token, "put long values into a file")});
  }
  if (auto finding = not_text(reading)) {
    return Checked<Assignments>::reject({*std::move(finding)});
  }
  const Parts parts = parts_of(token);
  if (auto finding = malformed(token, parts)) {
    return Checked<Assignments>::reject({*std::move(finding)});
  }
  Checked<Value> value = parts.has_value ? read_literal(parts.value, reading) : Checked<Value>();
  if (rejects(value.findings)) return Checked<Assignments>::reject(std::move(value.findings));
  TokenEffects effects(parts, token, std::move(value.findings));
  if (parts.removes) {
    effects.remove(value.value.value_or(Value()));
  } else {
    effects.set(std::string(parts.key), *value.value);
  }
  return std::move(effects).take();
}

std::string to_text(const Assignment& assignment) {
  const std::string& knob = assignment.knob;
  std::string text = assignment.removes ? "~" : "";
  // Else its own first part would be taken away, or would be none of the configuration's.
  if (knob_name(knob) != knob || unknown_part(knob)) {
    text += knob.starts_with("config.") ? "model.config." : "model.";
  }
  text += knob;
  if (assignment.removes && assignment.value.is_null()) return text;
  return text + "=" + literal_text(assignment.value);
}

bool is_override(std::string_view word) {
  if (word.starts_with('+')) return true;
  if (word.starts_with('~')) return !word.starts_with("~/");
  return !word.starts_with('-') && word.find('=') != std::string_view::npos;
}

}  // namespace refrain::config
