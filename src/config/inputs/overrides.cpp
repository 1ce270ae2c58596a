#include "config/inputs/overrides.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/inputs/literal.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostBytes = 64 * 1024;
constexpr size_t kMostKnobs = 1000;  // each remembers the whole token

/// Knobs that stand outside the model in Megatron-Bridge and have a plain name with us.
struct PlainName {
  std::string_view path, knob;
};
constexpr PlainName kPlainNames[] = {
    {"train.micro_batch_size", "micro_batch_size"},
    {"train.global_batch_size", "global_batch_size"},
    {"comm_overlap.overlap_moe_expert_parallel_comm", "overlap_moe_expert_parallel_comm"},
    {"comm_overlap.delay_wgrad_compute", "delay_wgrad_compute"},
    {"dataset.sequence_length", "seq_length"},
    {"dataset.seq_length", "seq_length"},
};

Finding about(std::string_view rule, std::string_view must_hold, std::string_view token,
              std::string remedy) {
  return {fmt::format("override.{}", rule), fmt::format("{}: {}", must_hold, in_quotes(token)),
          std::move(remedy)};
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The token cut into its parts.
struct Parts {
  bool removes = false;
  bool has_value = false;
  std::string_view key, value;
};

Parts parts_of(std::string_view token) {
  Parts parts;
  token = trimmed(token);
  parts.removes = token.starts_with('~');
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

/// What is wrong with the token before its value is looked at.
std::optional<Finding> malformed(std::string_view token, const Parts& parts) {
  if (parts.key.empty()) {
    return about("empty-key", "an override must name a knob before its equals sign", token,
                 "write knob=value");
  }
  if (!parts.has_value && !parts.removes) {
    return about("no-value", "an override must be knob=value", token,
                 fmt::format("write {0}=VALUE, or ~{0} to take it away", parts.key));
  }
  if (!is_knob_path(parts.key)) {
    return about("malformed-key", "a knob's name must be letters, digits, _ and - between dots",
                 token, "write it like model.recompute_modules=[core_attn]");
  }
  return {};
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

/// Sets the knob at `path`, or one for each key where `value` is a dict; false after an error.
bool assign(const std::string& path, const Value& value, const Source& source,
            Checked<Assignments>& out) {
  if (!value.is_object()) {
    out.value->push_back({knob_name(path), value, source});
    return true;
  }
  if (value.empty() && out.findings.empty()) {
    Finding note = about("empty-dict", "a dict must hold something to have an effect", source.place,
                         "leave it out");
    note.severity = Severity::kNote;
    out.findings.push_back(std::move(note));
  }
  for (const auto& [key, item] : value.items()) {
    if (auto finding = cannot_set(key, out.value->size(), source.place)) {
      out.findings.push_back(*std::move(finding));
      return false;
    }
    if (!assign(path + "." + key, item, source, out)) return false;
  }
  return true;
}

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
  Checked<Assignments> read{Assignments(), std::move(value.findings)};
  const Source source{Origin::kOverride, std::string(token)};
  if (parts.removes) {
    read.value->push_back({knob_name(parts.key), value.value.value_or(Value()), source, true});
  } else {
    assign(std::string(parts.key), *value.value, source, read);
  }
  if (rejects(read.findings)) read.value.reset();
  return read;
}

std::string to_text(const Assignment& assignment) {
  const std::string& knob = assignment.knob;
  std::string text = assignment.removes ? "~" : "";
  if (knob_name(knob) != knob) text += "model.";  // else its own first part would be taken away
  text += knob;
  if (assignment.removes && assignment.value.is_null()) return text;
  return text + "=" + literal_text(assignment.value);
}

bool is_override(std::string_view word) {
  if (word.starts_with('+')) return true;
  if (word.starts_with('~')) return !word.starts_with("~/");
  return !word.starts_with('-') && word.find('=') != std::string_view::npos;
}

std::string knob_name(std::string_view path) {
  if (path.starts_with("cfg.")) path.remove_prefix(4);
  if (path.starts_with("model.")) return std::string(path.substr(6));
  for (const PlainName& name : kPlainNames) {
    if (path == name.path) return std::string(name.knob);
  }
  return std::string(path);
}

bool is_knob_path(std::string_view path) {
  bool part_is_empty = true;
  for (const char c : path) {
    if (c == '.' || c == '-' ? part_is_empty : !is_name_character(c)) return false;
    part_is_empty = c == '.';
  }
  return !part_is_empty;
}

}  // namespace refrain::config
