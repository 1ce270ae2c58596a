// Between a knob's typed member and a value as written.
#include <limits>

#include "config/knobs/knob_table.h"

namespace refrain::config {
namespace {

// One overload pair a type: `write` as a value, `read` from one; read is false for another type.
Value write(bool flag) { return flag; }
Value write(int64_t whole) { return whole; }
Value write(double real) { return real; }
Value write(const std::string& text) { return text; }
Value write(const WordList& list) {
  if (list.is_text) return list.words.at(0);
  return list.words;
}
Value write(const LayerFrequency& frequency) {
  return std::visit([](const auto& held) { return Value(held); }, frequency);
}
template <class T>
Value write(const std::optional<T>& held) {
  return held ? write(*held) : Value();
}

bool read(const Value& value, bool& flag) {
  if (!value.is_boolean()) return false;
  flag = value.get<bool>();
  return true;
}

bool read(const Value& value, int64_t& whole) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return false;
  }
  whole = value.get<int64_t>();
  return true;
}

bool read(const Value& value, double& real) {
  if (!value.is_number()) return false;
  real = value.get<double>();
  return true;
}

bool read(const Value& value, std::string& text) {
  if (!value.is_string()) return false;
  text = value.get<std::string>();
  return true;
}

bool read(const Value& value, WordList& list) {
  if (value.is_string()) {
    list = {{value.get<std::string>()}, true};
    return true;
  }
  if (!value.is_array()) return false;
  WordList made;
  for (const Value& item : value) {
    if (!item.is_string()) return false;
    made.words.push_back(item.get<std::string>());
  }
  list = std::move(made);
  return true;
}

bool read(const Value& value, LayerFrequency& frequency) {
  if (int64_t every = 0; read(value, every)) {
    frequency = every;
    return true;
  }
  if (!value.is_array()) return false;
  std::vector<int64_t> flags;
  for (const Value& item : value) {
    if (!read(item, flags.emplace_back())) return false;
  }
  frequency = std::move(flags);
  return true;
}

template <class T>
bool read(const Value& value, std::optional<T>& held) {
  if (value.is_null()) {
    held.reset();
    return true;
  }
  T made{};
  if (!read(value, made)) return false;
  held = std::move(made);
  return true;
}

std::string_view name_of(bool) { return "true or false"; }
std::string_view name_of(int64_t) { return "a whole number"; }
std::string_view name_of(double) { return "a number"; }
std::string_view name_of(const std::string&) { return "text"; }
std::string_view name_of(const WordList&) { return "a list of words"; }
std::string_view name_of(const LayerFrequency&) { return "a whole number or a list of them"; }
template <class T>
std::string_view name_of(const std::optional<T>&) {
  return name_of(T{});
}

}  // namespace

bool WordList::has(std::string_view word) const {
  if (is_text) return false;
  for (const std::string& held : words) {
    if (held == word) return true;
  }
  return false;
}

std::string_view type_name(const Knob& knob) {
  static const Knobs any;
  return std::visit([](auto member) { return name_of(any.*member); }, knob.member);
}

Value value_of(const Knobs& knobs, const Knob& knob) {
  return std::visit([&](auto member) { return write(knobs.*member); }, knob.member);
}

bool set_value(Knobs& knobs, const Knob& knob, const Value& value) {
  return std::visit([&](auto member) { return read(value, knobs.*member); }, knob.member);
}

}  // namespace refrain::config
