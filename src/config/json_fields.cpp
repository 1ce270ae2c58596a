#include "config/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max();

const nlohmann::json& null() {
  static const nlohmann::json value;
  return value;
}

/// From `least` to kMostSize, whatever integer type the parser chose.
bool in_range(const nlohmann::json& value, int64_t least) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number >= static_cast<uint64_t>(least) && number <= static_cast<uint64_t>(kMostSize);
  }
  const auto number = value.get<int64_t>();
  return number >= least && number <= kMostSize;
}

}  // namespace

FieldReader::FieldReader(const nlohmann::json& object, Findings& findings)
    : object_(object), findings_(findings) {}

bool FieldReader::absent(const std::string& field) const { return !object_.contains(field); }

bool FieldReader::is_null(const std::string& field) const {
  return object_.contains(field) && object_[field].is_null();
}

const nlohmann::json& FieldReader::raw(const std::string& field) {
  read_.insert(field);
  const auto found = object_.find(field);
  return found == object_.end() ? null() : *found;
}

int64_t FieldReader::size(const std::string& field, std::optional<int64_t> fallback) {
  return whole(field, 1, fallback);
}

int64_t FieldReader::count(const std::string& field, std::optional<int64_t> fallback) {
  return whole(field, 0, fallback);
}

int64_t FieldReader::whole(const std::string& field, int64_t least,
                           std::optional<int64_t> fallback) {
  const nlohmann::json& value = raw(field);
  if (value.is_null()) {
    if (fallback) return *fallback;
    complain({"model.missing-field",
              fmt::format("{} must be there: it is {}", field, absent(field) ? "not" : "null"),
              fmt::format("add {} to the file", field)});
    return 1;
  }
  if (!value.is_number_integer()) {
    wrong_type(field, "a whole number");
    return fallback.value_or(1);
  }
  if (!in_range(value, least)) {
    complain({"model.size-out-of-range",
              fmt::format("{} must be from {} to {}: {}", field, least, kMostSize, shown(value)),
              "correct the model's size"});
    return fallback.value_or(1);
  }
  return value.get<int64_t>();
}

double FieldReader::real(const std::string& field, double fallback) {
  const nlohmann::json& value = raw(field);
  if (value.is_null()) return fallback;
  if (value.is_number()) return value.get<double>();
  wrong_type(field, "a number");
  return fallback;
}

double FieldReader::fraction(const std::string& field, double fallback) {
  const double number = real(field, fallback);
  if (number >= 0 && number <= 1) return number;
  complain({"model.fraction-out-of-range", fmt::format("{} must be from 0 to 1: {}", field, number),
            "correct the file"});
  return fallback;
}

bool FieldReader::flag(const std::string& field, bool fallback) {
  const nlohmann::json& value = raw(field);
  if (value.is_null()) return fallback;
  if (value.is_boolean()) return value.get<bool>();
  wrong_type(field, "true or false");
  return fallback;
}

std::string FieldReader::text(const std::string& field, const std::string& fallback) {
  const nlohmann::json& value = raw(field);
  if (value.is_null()) return fallback;
  if (value.is_string()) return value.get<std::string>();
  wrong_type(field, "a string");
  return fallback;
}

std::vector<int64_t> FieldReader::whole_numbers(const std::string& field) {
  const nlohmann::json& value = raw(field);
  if (value.is_null()) return {};
  const bool fits =
      value.is_array() && std::all_of(value.begin(), value.end(),
                                      [](const auto& item) { return item.is_number_integer(); });
  if (fits) return value.get<std::vector<int64_t>>();
  wrong_type(field, "a list of whole numbers");
  return {};
}

std::vector<std::string> FieldReader::words(const std::string& field) {
  const nlohmann::json& value = raw(field);
  if (value.is_null()) return {};
  const bool fits =
      value.is_array() &&
      std::all_of(value.begin(), value.end(), [](const auto& item) { return item.is_string(); });
  if (fits) return value.get<std::vector<std::string>>();
  wrong_type(field, "a list of words");
  return {};
}

void FieldReader::skip(std::span<const std::string_view> fields) {
  for (const std::string_view field : fields) read_.emplace(field);
}

std::vector<std::string> FieldReader::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : object_.items()) {
    if (!read_.contains(name) && !is_off(value)) names.push_back(name);
  }
  return names;
}

void FieldReader::wrong_type(const std::string& field, const std::string& wanted) {
  complain({"model.wrong-type",
            fmt::format("{} must be {}: {}", field, wanted, shown(object_[field])),
            "correct the file"});
}

std::string shown(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  return value.dump();
}

bool is_off(const nlohmann::json& value) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0.0;
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.empty();
}

}  // namespace refrain::config
