// Typed reads from a JSON object that somebody else wrote: what does not fit becomes a finding.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace refrain::config {

/// Reads fields of `object` and remembers which. An absent or null field has its fallback; one of
/// a wrong type is a finding `model.wrong-type` and has its fallback too, so that reading goes on
/// and all findings of a file are told at once. Both references must outlive the reader.
class FieldReader {
 public:
  FieldReader(const nlohmann::json& object, Findings& findings);

  bool absent(const std::string& field) const;   // not there at all
  bool is_null(const std::string& field) const;  // there, and null
  /// The field as it stands, null where absent.
  const nlohmann::json& raw(const std::string& field);

  /// A whole number from 1 to 2^31 - 1; beyond is `model.size-out-of-range`. Without a fallback the
  /// field is required (`model.missing-field`); what is returned then is 1.
  int64_t size(const std::string& field, std::optional<int64_t> fallback = {});
  /// The same from 0 on.
  int64_t count(const std::string& field, std::optional<int64_t> fallback = {});
  double real(const std::string& field, double fallback);
  /// From 0 to 1; beyond is `model.fraction-out-of-range`.
  double fraction(const std::string& field, double fallback);
  bool flag(const std::string& field, bool fallback);
  std::string text(const std::string& field, const std::string& fallback);
  /// Whole numbers of any size, or words; empty where absent.
  std::vector<int64_t> whole_numbers(const std::string& field);
  std::vector<std::string> words(const std::string& field);

  /// Marks fields as known.
  void skip(std::span<const std::string_view> fields);
  /// Names of fields that nobody read or skipped and that hold something (not null, false or
  /// empty).
  std::vector<std::string> unread() const;

  /// Reads an object that a field holds, with the same findings.
  FieldReader inside(const nlohmann::json& object) const { return {object, findings_}; }

  void complain(Finding finding) { findings_.push_back(std::move(finding)); }
  /// True where an error was told.
  bool failed() const { return rejects(findings_); }

 private:
  int64_t whole(const std::string& field, int64_t least, std::optional<int64_t> fallback);
  void wrong_type(const std::string& field, const std::string& wanted);

  const nlohmann::json& object_;
  Findings& findings_;
  std::set<std::string> read_;
};

/// A value for a message: 'text' or a number as written, "an object" for the nested ones.
std::string shown(const nlohmann::json& value);

/// Null, false, 0, "", [] or {}: what people write to say that a feature is off.
bool is_off(const nlohmann::json& value);

}  // namespace refrain::config
