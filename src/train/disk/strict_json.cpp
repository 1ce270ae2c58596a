#include "train/disk/strict_json.h"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace refrain::train {
namespace {

using nlohmann::json;

// Receives the parser's events, keeps the document under construction, and stops at the first
// thing that is not allowed.
class StrictReader : public nlohmann::json_sax<json> {
 public:
  explicit StrictReader(int max_depth) : max_depth_(max_depth) {}

  json document;
  Complaint complaint;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return refuse("holds binary values"); }
  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    if (open_.back()->contains(value)) return refuse(fmt::format("names \"{}\" twice", value));
    key_ = std::move(value);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    return refuse(fmt::format("is not JSON at byte {}", position));
  }

 private:
  json* place(json value) {
    if (open_.empty()) return &(document = std::move(value));
    json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    return &parent.emplace_back(std::move(value));
  }

  bool add(json value) {
    place(std::move(value));
    return true;
  }

  // A parent does not move while a child is open: only its last element grows.
  bool open(json value) {
    if (static_cast<int>(open_.size()) == max_depth_) {
      return refuse(fmt::format("nests deeper than {} levels", max_depth_));
    }
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  bool refuse(std::string text) {
    complaint.text = std::move(text);
    return false;
  }

  int max_depth_;
  std::vector<json*> open_;
  std::string key_;
};

}  // namespace

std::variant<json, Complaint> parse_strict_json(std::string_view text, int max_depth) {
  StrictReader reader(max_depth);
  if (json::sax_parse(text, &reader)) return std::move(reader.document);
  return std::move(reader.complaint);
}

}  // namespace refrain::train
