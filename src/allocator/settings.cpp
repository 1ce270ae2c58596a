#include "allocator/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "config/scan.h"

namespace refrain::allocator {
namespace {

using config::in_quotes;

// More than any block has, and little enough to be added to one.
constexpr int64_t kMostMiB = 2 * kRefused.count() / kMiB.count();

bool power_of_two(uint64_t n) { return std::has_single_bit(n); }

// Numbers as std::stoull and std::stod read them: what stands behind the digits is ignored, so that
// "128MB" is 128. A sign, which would wrap around, is no number here.
std::optional<uint64_t> to_count(std::string_view text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() ? std::optional(count) : std::nullopt;
}

std::optional<double> to_share(std::string_view text) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  return error == std::errc() ? std::optional(share) : std::nullopt;
}

std::optional<bool> to_bool(std::string_view text) {
  if (text == "True") return true;
  if (text == "False") return false;
  return std::nullopt;
}

std::optional<Bytes> to_mebibytes(std::string_view text) {
  const std::optional<uint64_t> count = to_count(text);
  if (!count) return std::nullopt;
  return kMiB * static_cast<int64_t>(std::min<uint64_t>(*count, kMostMiB));
}

// Whether an option takes a value; where it does, `settings` have it.
using Take = bool (*)(Settings& settings, std::string_view value);

bool take_bool(Settings&, std::string_view value) { return to_bool(value).has_value(); }

bool take_count(Settings&, std::string_view value) { return to_count(value).has_value(); }

bool take_expandable_segments(Settings& settings, std::string_view value) {
  const std::optional<bool> on = to_bool(value);
  settings.expandable_segments = on.value_or(false);
  return on.has_value();
}

bool take_large_segment(Settings& settings, std::string_view value) {
  const std::optional<Bytes> size = to_mebibytes(value);
  if (!size || *size <= kPackedLimit) return false;
  settings.large_segment = settings.max_non_split_rounding = *size;
  return true;
}

bool take_max_split(Settings& settings, std::string_view value) {
  const std::optional<Bytes> size = to_mebibytes(value);
  if (!size || *size < settings.large_segment) return false;
  settings.max_split = size;
  return true;
}

bool take_max_non_split_rounding(Settings& settings, std::string_view value) {
  const std::optional<Bytes> size = to_mebibytes(value);
  if (!size || *size < settings.large_segment) return false;
  settings.max_non_split_rounding = *size;
  return true;
}

bool take_garbage_collection(Settings& settings, std::string_view value) {
  const std::optional<double> share = to_share(value);
  if (!share || !(*share > 0 && *share < 1)) return false;
  settings.garbage_collection_threshold = *share;
  return true;
}

bool take_process_fraction(Settings& settings, std::string_view value) {
  const std::optional<double> share = to_share(value);
  if (!share || !(*share >= 0 && *share <= 1)) return false;
  settings.process_fraction = *share;
  return true;
}

// "[256:1,512:2,>:4]": sizes in MiB. What lies below the first has its divisions, what lies between
// two that are not neighbours is rounded to 512 B, what lies above the last is so too without ">".
bool take_division_list(Settings& settings, std::string_view list) {
  auto& divisions = settings.roundup_divisions;
  std::optional<size_t> last;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view entry = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos) return false;
    const std::optional<uint64_t> steps = to_count(entry.substr(colon + 1));
    if (!steps || (*steps != 0 && !power_of_two(*steps))) return false;
    const auto count = static_cast<int64_t>(*steps);
    if (entry.substr(0, colon) == ">") {
      std::fill(divisions.begin() + (last.value_or(0) + 1), divisions.end(), count);
      continue;
    }
    const std::optional<uint64_t> size = to_count(entry.substr(0, colon));
    if (!size || !power_of_two(*size)) return false;
    const size_t index = std::min<size_t>(std::countr_zero(*size), divisions.size() - 1);
    if (!last) std::fill(divisions.begin(), divisions.begin() + index, count);
    divisions[index] = count;
    last = index;
  }
  return true;
}

bool take_divisions(Settings& settings, std::string_view value) {
  if (value.starts_with('[')) {
    return value.ends_with(']') && take_division_list(settings, value.substr(1, value.size() - 2));
  }
  const std::optional<uint64_t> steps = to_count(value);
  if (!steps || !power_of_two(*steps)) return false;
  settings.roundup_divisions.fill(static_cast<int64_t>(*steps));
  return true;
}

bool take_backend(Settings&, std::string_view value) {
  return value == "native" || value == "cudaMallocAsync";
}

bool take_register_threads(Settings&, std::string_view value) {
  const std::optional<uint64_t> count = to_count(value);
  return count && power_of_two(*count) && *count <= 128;
}

bool take_pinned_segment(Settings&, std::string_view value) {
  return to_count(value).value_or(0) > 0;
}

struct Option {
  std::string_view name;
  std::string_view takes;  // for the finding
  Take take;
};

// `getKeys` of both files. large_segment_size_mb is read first, whatever its place, because two
// others may not be smaller.
constexpr Option kOptions[] = {
    {"large_segment_size_mb", "a whole number of MiB above 10", take_large_segment},
    {"max_split_size_mb", "a whole number of MiB, not below large_segment_size_mb (20)",
     take_max_split},
    {"max_non_split_rounding_mb", "a whole number of MiB, not below large_segment_size_mb (20)",
     take_max_non_split_rounding},
    {"garbage_collection_threshold", "a number above 0 and below 1", take_garbage_collection},
    {"roundup_power2_divisions",
     "a power of two, or a list [SIZE:DIVISIONS,...,>:DIVISIONS] of powers of two", take_divisions},
    {"expandable_segments", "True or False", take_expandable_segments},
    {"per_process_memory_fraction", "a number from 0 to 1", take_process_fraction},
    {"backend", "native or cudaMallocAsync", take_backend},
    // Without a say in device bytes.
    {"release_lock_on_cudamalloc", "True or False", take_bool},
    {"release_lock_on_hipmalloc", "True or False", take_bool},
    {"throw_on_cudamalloc_oom", "True or False", take_bool},
    {"graph_capture_record_stream_reuse", "True or False", take_bool},
    {"pinned_use_background_threads", "True or False", take_bool},
    {"pinned_use_cuda_host_register", "True or False", take_bool},
    {"pinned_use_hip_host_register", "True or False", take_bool},
    {"pinned_free_catch_all", "True or False", take_bool},
    {"pinned_num_register_threads", "a power of two up to 128", take_register_threads},
    {"pinned_reserve_segment_size_mb", "a whole number of MiB above 0", take_pinned_segment},
    {"pinned_max_round_threshold_mb", "a whole number of MiB", take_count},
    {"pinned_max_cached_size_mb", "a whole number of MiB", take_count},
};

struct Entry {
  std::string name, value;
};

const Option* find_option(std::string_view name) {
  const auto* found = std::ranges::find(kOptions, name, &Option::name);
  return found == std::end(kOptions) ? nullptr : found;
}

Finding unknown_option(const std::string& name) {
  std::vector<std::string> names;
  for (const Option& option : kOptions) names.emplace_back(option.name);
  const std::optional<std::string> near = nearest(name, names);
  return {
      "allocator.unknown-option",
      fmt::format("an option of the allocator must be one that PyTorch has: {}", in_quotes(name)),
      near ? fmt::format("say {}", *near)
           : std::string("take it out; the known ones are in PyTorch's notes/cuda")};
}

std::string without_space(std::string_view text) {
  std::string kept;
  std::ranges::copy_if(text, std::back_inserter(kept),
                       [](unsigned char c) { return std::isspace(c) == 0; });
  return kept;
}

// Cuts at the commas outside brackets; PyTorch takes a comma at the end.
std::vector<std::string> cut(std::string_view text) {
  std::vector<std::string> parts(1);
  bool in_list = false;
  for (const char c : text) {
    if (c == '[' || c == ']') in_list = c == '[';
    if (c == ',' && !in_list) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::vector<Entry> entries_of(std::string_view text, Findings& findings) {
  std::vector<Entry> entries;
  for (const std::string& part : cut(without_space(text))) {
    const size_t colon = part.find(':');
    const bool complete = colon != 0 && colon != std::string::npos && colon + 1 < part.size();
    const bool is_list = complete && part[colon + 1] == '[';
    if (!complete || (!is_list && part.find(':', colon + 1) != std::string::npos)) {
      findings.push_back(
          {"allocator.syntax",
           fmt::format("options must read NAME:VALUE,NAME:VALUE,...: {}", in_quotes(part)),
           "write name, colon and value, and a comma before the next name"});
      continue;
    }
    entries.push_back({part.substr(0, colon), part.substr(colon + 1)});
  }
  // Others may not be smaller than the size of a large segment, so it is read first.
  std::stable_partition(entries.begin(), entries.end(),
                        [](const Entry& entry) { return entry.name == kOptions[0].name; });
  return entries;
}

void add_notes(const Settings& settings, const std::vector<Entry>& entries, Findings& findings) {
  if (settings.garbage_collection_threshold > 0 && settings.process_fraction == 1) {
    findings.push_back(
        {"allocator.no-limit-to-collect-for",
         fmt::format(
             "garbage_collection_threshold {} is a share of the process's memory limit, and "
             "does nothing where there is none",
             settings.garbage_collection_threshold),
         "set per_process_memory_fraction, or call torch.cuda.set_per_process_memory_fraction",
         Severity::kNote});
  }
  for (const Entry& entry : entries) {
    if (entry.name != "backend" || entry.value != "cudaMallocAsync") continue;
    findings.push_back({"allocator.other-backend",
                        "backend cudaMallocAsync leaves segments and blocks to the driver; bytes "
                        "are predicted for backend native",
                        "take backend:native for these numbers", Severity::kNote});
  }
}

}  // namespace

Checked<Settings> parse_settings(std::string_view text) {
  Settings settings;
  Findings findings;
  const std::vector<Entry> entries = entries_of(text, findings);
  for (const auto& [name, value] : entries) {
    const Option* option = find_option(name);
    if (option == nullptr) {
      findings.push_back(unknown_option(name));
    } else if (!option->take(settings, value)) {
      findings.push_back({"allocator.bad-value",
                          fmt::format("{} takes {}: {}", name, option->takes, in_quotes(value)),
                          "give such a value, or leave the option out"});
    }
  }
  if (rejects(findings)) return Checked<Settings>::reject(std::move(findings));
  add_notes(settings, entries, findings);
  return Checked<Settings>::accept(settings, std::move(findings));
}

Bytes block_bytes(Bytes requested, const Settings& settings) {
  if (requested < kBlockStep) return kBlockStep;
  if (requested >= kRefused) return requested;
  const auto size = static_cast<uint64_t>(requested.count());
  const int log_size = static_cast<int>(std::bit_width(size)) - 1;
  constexpr int kLast = static_cast<int>(std::tuple_size_v<decltype(Settings::roundup_divisions)>);
  const auto divisions =
      static_cast<uint64_t>(settings.roundup_divisions[std::clamp(log_size - 20, 0, kLast - 1)]);
  constexpr uint64_t kStep = kBlockStep.count();
  uint64_t step = kStep;
  // PyTorch's product wraps too: from 2^55 divisions on it is 0, and so is the step.
  if (divisions > 1 && size > kStep * divisions) step = std::bit_floor(size) / divisions;
  if (step == 0) return Bytes(static_cast<int64_t>(std::bit_ceil(size)));
  return Bytes(static_cast<int64_t>((size + step - 1) / step * step));
}

Bytes segment_bytes(Bytes block, const Settings& settings) {
  if (block <= kSmallLimit) return kSmallSegment;
  if (block < kPackedLimit) return settings.large_segment;
  if (block >= kRefused) return block;
  const int64_t step = kSegmentStep.count();
  return Bytes((block.count() + step - 1) / step * step);
}

}  // namespace refrain::allocator
