#include "cost/device/devices.h"

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/scan.h"
#include "cost/device/device_texts.h"
#include "cost/device/read_profile.h"

namespace refrain::cost {
namespace {

struct Catalogue {
  std::vector<DeviceProfile> bases;  // the devices and what they inherit
  std::vector<DeviceProfile> devices;
  std::map<std::string, size_t> by_name;  // folded names and aliases -> devices
  std::vector<std::string> names;
};

std::string folded(std::string_view name) {
  std::string key;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) key += static_cast<char>(std::tolower(byte));
  }
  return key;
}

void add_device(std::string_view text, Catalogue& catalogue) {
  Checked<DeviceProfile> device = parse_whole_profile(text, catalogue.bases);
  RC_CHECK(device.value.has_value(), "{}", to_text(device.findings));
  std::vector<std::string> names = {device.value->name};
  const auto object = nlohmann::json::parse(text);
  for (const auto& alias : object.value("aliases", nlohmann::json::array())) {
    names.push_back(alias.get<std::string>());
  }
  for (const std::string& name : names) {
    catalogue.by_name.emplace(folded(name), catalogue.devices.size());
    catalogue.names.push_back(name);
  }
  catalogue.bases.push_back(*device.value);
  catalogue.devices.push_back(*std::move(device.value));
}

/// A text stands after the one it inherits.
const Catalogue& catalogue() {
  static const Catalogue made = [] {
    Catalogue all;
    Checked<DeviceProfile> shared = parse_profile(kRatesText, {});
    RC_CHECK(shared.value.has_value(), "{}", to_text(shared.findings));
    all.bases.push_back(*std::move(shared.value));
    for (const std::string_view text :
         {kA100Text, kH100Text, kH200Text, kB300Text, kB200Text, kGb300Text, kGb200Text}) {
      add_device(text, all);
    }
    return all;
  }();
  return made;
}

}  // namespace

const std::vector<DeviceProfile>& devices() { return catalogue().devices; }

Checked<DeviceProfile> find_device(std::string_view name) {
  const auto& [bases, all, by_name, names] = catalogue();
  const auto found = by_name.find(folded(name));
  if (found != by_name.end()) return Checked<DeviceProfile>::accept(all[found->second]);
  std::vector<std::string> known;
  for (const DeviceProfile& each : all) known.push_back(each.name);
  const auto near = nearest(name.substr(0, 100), names);
  return Checked<DeviceProfile>::reject(
      {{"device.unknown",
        fmt::format("a device must be one of {}: {}", config::joined(known),
                    config::in_quotes(name)),
        near ? fmt::format("did you mean {}?", *near)
             : "name one of them, or give a profile file of your own"}});
}

Checked<DeviceProfile> read_device(std::string_view text) {
  return parse_whole_profile(text, catalogue().bases);
}

}  // namespace refrain::cost
