// Typed reads from a JSON object that somebody else wrote: what does not fit becomes a finding.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/finding.h"

namespace refrain::config {

/// Reads fields of `object` and remembers which. An absent or null field has its fallback; one of
/// a wrong type is a finding `model.wrong-type` and has its fallback too, so that reading goes on
/// and all findings of a file are told at once. Both references must outlive the reader.
class FieldReader {
 public:
  FieldReader(const nlohmann::json& object, Findings& findings);

  bool absent(const std::string& field);   // not there at all
  bool is_null(const std::string& field);  // there, and null
  /// The field as it stands, null where absent.
  const nlohmann::json& raw(const std::string& field);

  /// A whole number from 1 to 2^31 - 1; beyond is `model.size-out-of-range`. Without a fallback the
  /// field is required (`model.missing-field`); what is returned then is 1.
  int64_t size(const std::string& field, std::optional<int64_t> fallback = {});
  double real(const std::string& field, double fallback);
  bool flag(const std::string& field, bool fallback);
  std::string text(const std::string& field, const std::string& fallback);

  /// Names of fields that nobody read and that hold something (not null, false or empty).
  std::vector<std::string> unread() const;

 private:
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
