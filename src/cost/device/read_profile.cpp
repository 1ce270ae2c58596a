#include "cost/device/read_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/json_fields.h"
#include "config/scan.h"
#include "cost/device/profile_fields.h"

namespace refrain::cost {
namespace {

using config::in_quotes;
using config::shown;
using nlohmann::json;

constexpr size_t kLongestText = 64 << 10;  // a profile has a few kilobytes

class ProfileReader {
 public:
  ProfileReader(const json& object, Findings& findings) : object_(object), findings_(findings) {}

  DeviceProfile read(const std::vector<DeviceProfile>& bases) {
    DeviceProfile profile = base(bases);
    profile.name = text("name", "custom");
    profile.title = text("title", profile.name);
    read_host(profile);
    for (const ProfileField& field : profile_fields()) read_number(field, profile);
    complain_of_unknown_fields();
    return profile;
  }

 private:
  void complain(std::string rule, std::string message, std::string remedy) {
    findings_.push_back({std::move(rule), std::move(message), std::move(remedy)});
  }

  void complain_of_type(std::string_view field, std::string_view wanted, const json& value) {
    complain("device.wrong-type", fmt::format("{} must be {}: {}", field, wanted, shown(value)),
             "correct the profile");
  }

  std::string text(const char* field, std::string fallback) {
    const auto found = object_.find(field);
    if (found == object_.end()) return fallback;
    if (found->is_string()) return found->get<std::string>();
    complain_of_type(field, "a string", *found);
    return fallback;
  }

  DeviceProfile base(const std::vector<DeviceProfile>& bases) {
    const std::string name = text("inherits", "");
    if (name.empty()) return {};
    std::vector<std::string> names;
    for (const DeviceProfile& each : bases) {
      if (each.name == name) return each;
      names.push_back(each.name);
    }
    const auto near = nearest(name.substr(0, 100), names);
    complain("device.unknown-base",
             fmt::format("inherits must name a built-in profile: {}", in_quotes(name)),
             near ? fmt::format("did you mean {}?", *near)
                  : fmt::format("one of {}", config::joined(names)));
    return {};
  }

  void read_host(DeviceProfile& profile) {
    profile.host = text("host", profile.host);
    if (profile.host.empty() || profile.host == "x86" || profile.host == "arm") return;
    complain("device.out-of-range",
             fmt::format("host must be 'x86' or 'arm': {}", in_quotes(profile.host)),
             "correct the profile");
  }

  void read_number(const ProfileField& field, DeviceProfile& profile) {
    const auto found = object_.find(std::string(field.name));
    if (found == object_.end()) return;
    const json* value = &*found;
    Provenance provenance;
    if (found->is_object()) {
      value = &value_in(field, *found);
      provenance = provenance_in(field, *found);
    }
    const bool whole = std::holds_alternative<ProfileField::Whole>(field.place);
    if (whole ? !is_whole(*value) : !value->is_number()) {
      return complain_of_type(field.name, whole ? "a whole number" : "a number", *value);
    }
    const double number = value->get<double>();
    if (!in_bounds(field, number)) return;
    if (provenance.range &&
        (number < provenance.range->first || number > provenance.range->second)) {
      complain("device.out-of-range",
               fmt::format("{} must lie within its range [{}, {}]: {}", field.name,
                           provenance.range->first, provenance.range->second, number),
               "correct the value or the range");
    }
    store(field, number, profile);
    profile.provenance[std::string(field.name)] = std::move(provenance);
  }

  /// 80e9 is whole too, although JSON parsers call it a real.
  static bool is_whole(const json& value) {
    if (!value.is_number()) return false;
    return value.is_number_integer() || value.get<double>() == std::floor(value.get<double>());
  }

  bool in_bounds(const ProfileField& field, double number) {
    if (number >= field.least && number <= field.most) return true;  // NaN is in no bounds
    complain("device.out-of-range",
             fmt::format("{} must be from {:g} to {:g}{}{}: {:g}", field.name, field.least,
                         field.most, field.unit.empty() ? "" : " ", field.unit, number),
             fmt::format("it is {}", field.meaning));
    return false;
  }

  static void store(const ProfileField& field, double number, DeviceProfile& profile) {
    if (const auto* real = std::get_if<ProfileField::Real>(&field.place)) {
      (*real)(profile) = number;
    } else {
      std::get<ProfileField::Whole>(field.place)(profile) = static_cast<int64_t>(number);
    }
  }

  const json& value_in(const ProfileField& field, const json& object) {
    static const json null;
    for (const auto& [name, value] : object.items()) {
      if (name != "value" && name != "range" && name != "source") {
        complain_of_unknown(fmt::format("{}.", field.name), name, {"value", "range", "source"});
      }
    }
    const auto found = object.find("value");
    return found == object.end() ? null : *found;
  }

  Provenance provenance_in(const ProfileField& field, const json& object) {
    Provenance provenance;
    if (const auto source = object.find("source"); source != object.end()) {
      if (source->is_string()) {
        provenance.source = spelt_out(source->get<std::string>());
      } else {
        complain_of_type(fmt::format("{}.source", field.name), "a string", *source);
      }
    }
    const auto range = object.find("range");
    if (range == object.end()) return provenance;
    if (range->is_array() && range->size() == 2 && (*range)[0].is_number() &&
        (*range)[1].is_number()) {
      provenance.range = {(*range)[0].get<double>(), (*range)[1].get<double>()};
    } else {
      complain_of_type(fmt::format("{}.range", field.name), "two numbers", *range);
    }
    return provenance;
  }

  /// "fit; current scaling": what `sources` has under "fit", then the rest.
  std::string spelt_out(const std::string& source) const {
    const auto sources = object_.find("sources");
    if (sources == object_.end() || !sources->is_object()) return source;
    const size_t end = std::min(source.size(), source.find_first_of(";:,"));
    const auto found = sources->find(source.substr(0, end));
    if (found == sources->end() || !found->is_string()) return source;
    return found->get<std::string>() + source.substr(end);
  }

  void complain_of_unknown_fields() {
    std::vector<std::string> known = {"name", "title", "aliases", "inherits", "sources", "host"};
    for (const ProfileField& field : profile_fields()) known.emplace_back(field.name);
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        complain_of_unknown("", name, known);
      }
    }
  }

  void complain_of_unknown(const std::string& before, const std::string& name,
                           const std::vector<std::string>& known) {
    const auto near = nearest(name.substr(0, 100), known);
    complain("device.unknown-field",
             fmt::format("a profile has no field {}{}", before, in_quotes(name)),
             near ? fmt::format("did you mean {}?", *near)
                  : "leave it out; data/devices/README.md lists the fields");
  }

  const json& object_;
  Findings& findings_;
};

std::optional<json> parse_object(std::string_view text, Findings& findings) {
  const auto reject = [&](std::string message) {
    findings.push_back({"device.not-json", std::move(message), "correct the file"});
    return std::nullopt;
  };
  if (text.size() > kLongestText) {
    return reject(
        fmt::format("a profile must have at most {} bytes: {}", kLongestText, text.size()));
  }
  json parsed;
  try {
    parsed = json::parse(text);
  } catch (const json::exception& error) {  // a number beyond double's range is one too
    return reject(fmt::format("a profile must be JSON: {}", in_quotes(error.what())));
  }
  if (!parsed.is_object()) {
    return reject(fmt::format("a profile must be an object: {}", shown(parsed)));
  }
  return parsed;
}

void complain_of_missing(const DeviceProfile& profile, Findings& findings) {
  for (const ProfileField& field : profile_fields()) {
    if (field.optional || profile.provenance.contains(std::string(field.name))) continue;
    findings.push_back(
        {"device.missing-field", fmt::format("{} must be there: it is not", field.name),
         fmt::format("add it ({}), or inherit it: \"inherits\": \"h100-80gb\"", field.meaning)});
  }
}

}  // namespace

Checked<DeviceProfile> parse_profile(std::string_view text,
                                     const std::vector<DeviceProfile>& bases) {
  Findings findings;
  const std::optional<json> object = parse_object(text, findings);
  if (!object) return Checked<DeviceProfile>::reject(std::move(findings));
  DeviceProfile profile = ProfileReader(*object, findings).read(bases);
  if (rejects(findings)) return Checked<DeviceProfile>::reject(std::move(findings));
  return Checked<DeviceProfile>::accept(std::move(profile), std::move(findings));
}

Checked<DeviceProfile> parse_whole_profile(std::string_view text,
                                           const std::vector<DeviceProfile>& bases) {
  Checked<DeviceProfile> profile = parse_profile(text, bases);
  if (!profile.value) return profile;
  complain_of_missing(*profile.value, profile.findings);
  if (rejects(profile.findings)) profile.value.reset();
  return profile;
}

}  // namespace refrain::cost
