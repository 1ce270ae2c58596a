#include "train/disk/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "train/disk/durable_file.h"

namespace refrain::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeights = "weights.safetensors";
constexpr std::string_view kOptimizer = "optimizer.safetensors";
constexpr std::string_view kState = "state.json";

constexpr std::string_view kStep = "step-";
constexpr std::string_view kReplaced = ".replaced";
// Folders that are never read: on their way in, on their way out.
constexpr std::string_view kSaving = ".saving-";
constexpr std::string_view kRemoving = ".removing-";

/// A folder that by its name is a checkpoint.
struct Entry {
  int64_t step = 0;
  bool replaced = false;
  std::string name;
};

std::string name_of(int64_t step) { return fmt::format("{}{:08}", kStep, step); }

std::optional<Entry> parse_name(const std::string& name) {
  if (!name.starts_with(kStep)) return {};
  Entry entry{.name = name};
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kStep.size(), end, entry.step);
  if (error != std::errc() || entry.step < 0) return {};
  entry.replaced = std::string_view(rest, end) == kReplaced;
  if (name != name_of(entry.step) + std::string(entry.replaced ? kReplaced : "")) return {};
  return entry;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) throw Error("cannot list folder {}: {}", folder.string(), error.message());
  return names;
}

/// Newest first; of one step, the one that replaces the other first.
std::vector<Entry> entries_in(const fs::path& folder) {
  std::vector<Entry> entries;
  for (const std::string& name : names_in(folder)) {
    if (auto entry = parse_name(name)) entries.push_back(*std::move(entry));
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.step != b.step ? a.step > b.step : a.replaced < b.replaced;
  });
  return entries;
}

// --- saving -------------------------------------------------------------------------------------

/// Removes a folder so that nobody ever reads a part of it, also where this is interrupted.
void retire(const fs::path& folder, const std::string& name) {
  const fs::path leaving = folder / (std::string(kRemoving) + name);
  remove_folder(leaving);
  rename_folder(folder / name, leaving);
  sync_folder(folder);
  remove_folder(leaving);
}

void remove_leftovers(const fs::path& folder) {
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with(kSaving) || name.starts_with(kRemoving)) remove_folder(folder / name);
  }
}

void write_files(const fs::path& folder, const CheckpointView& checkpoint) {
  // What readers of other projects ask for before they take the file.
  const Metadata metadata = {{"format", "pt"}};
  std::map<std::string, FileSum> sums;
  sums[std::string(kWeights)] = write_safetensors(folder / kWeights, checkpoint.weights, metadata);
  sums[std::string(kOptimizer)] =
      write_safetensors(folder / kOptimizer, checkpoint.optimizer, metadata);
  DurableFile state(folder / kState);
  state.write(write_state(checkpoint.state, sums));
  state.close();
  sync_folder(folder);
}

/// A folder on its way in; removed again unless it was put in place.
class IncomingFolder {
 public:
  IncomingFolder(const fs::path& folder, const std::string& name)
      : folder_(folder), name_(name), path_(folder / (std::string(kSaving) + name)) {
    create_folder(path_);
  }
  IncomingFolder(const IncomingFolder&) = delete;
  IncomingFolder& operator=(const IncomingFolder&) = delete;
  ~IncomingFolder() {
    std::error_code error;  // the next save tries again
    if (!placed_) fs::remove_all(path_, error);
  }

  const fs::path& path() const { return path_; }

  /// `keep` what already has the name loadable until then; a damaged one is not worth it, and may
  /// itself stand beside a whole one that it was to replace.
  void put_in_place(bool keep) {
    const std::string replaced = name_ + std::string(kReplaced);
    std::error_code error;
    if (fs::exists(folder_ / name_, error)) {
      if (!keep) {
        retire(folder_, name_);
      } else {
        if (fs::exists(folder_ / replaced, error)) retire(folder_, replaced);
        rename_folder(folder_ / name_, folder_ / replaced);
      }
    }
    rename_folder(path_, folder_ / name_);
    placed_ = true;
    sync_folder(folder_);
  }

 private:
  fs::path folder_;
  std::string name_;
  fs::path path_;
  bool placed_ = false;
};

// --- loading ------------------------------------------------------------------------------------

/// Damage is what time does to a file: it is gone, unreadable in part, or other than written.
/// A file that exists and cannot be opened is not damaged, and going on from an older checkpoint
/// would be wrong: Error.
Complaint damage_or_throw(const fs::path& file, const std::error_code& error) {
  if (error == std::errc::no_such_file_or_directory) {
    return {fmt::format("{} is missing", file.string())};
  }
  if (error == std::errc::io_error) {
    return {fmt::format("{} cannot be read: {}", file.string(), error.message())};
  }
  throw Error("cannot read {}: {}", file.string(), error.message());
}

std::optional<Complaint> damage_of(const fs::path& file, const FileSum& expected) {
  const auto sum = sum_file(file);
  if (const auto* error = std::get_if<std::error_code>(&sum)) return damage_or_throw(file, *error);
  const auto& found = std::get<FileSum>(sum);
  if (found.bytes != expected.bytes) {
    return Complaint{
        fmt::format("{} must have {} bytes: {}", file.string(), expected.bytes, found.bytes)};
  }
  if (found.xxh3 != expected.xxh3) {
    return Complaint{fmt::format("{} must have checksum {}: {}", file.string(),
                                 to_hex(expected.xxh3), to_hex(found.xxh3))};
  }
  return {};
}

std::variant<StoredState, Complaint> load_state(const fs::path& file) {
  auto mapped = map_file(file);
  if (const auto* error = std::get_if<std::error_code>(&mapped)) {
    return damage_or_throw(file, *error);
  }
  const auto bytes = std::get<MappedFile>(mapped).bytes();
  auto stored =
      read_state({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
  if (auto* complaint = std::get_if<Complaint>(&stored)) {
    complaint->text = fmt::format("{} {}", file.string(), complaint->text);
  }
  return stored;
}

std::variant<Checkpoint, Complaint> load_checkpoint(const fs::path& folder) {
  auto loaded = load_state(folder / kState);
  if (auto* complaint = std::get_if<Complaint>(&loaded)) return std::move(*complaint);
  auto& [state, files] = std::get<StoredState>(loaded);
  for (const std::string_view name : {kWeights, kOptimizer}) {
    const auto sum = files.find(std::string(name));
    if (sum == files.end()) {
      return Complaint{fmt::format("{} must list {}", (folder / kState).string(), name)};
    }
    if (auto complaint = damage_of(folder / name, sum->second)) return *std::move(complaint);
  }
  return Checkpoint{folder, std::move(state), SafetensorsFile(folder / kWeights),
                    SafetensorsFile(folder / kOptimizer)};
}

Finding no_checkpoint(const fs::path& folder) {
  std::error_code error;
  const bool exists = fs::is_directory(folder, error);
  return {"checkpoint.none",
          fmt::format("--resume must name a folder with a checkpoint: {} {}", folder.string(),
                      exists ? "holds none" : "is not a folder"),
          "give the folder that --save was given, or start anew without --resume"};
}

}  // namespace

void CheckpointFolder::save(const CheckpointView& checkpoint) {
  const int64_t step = checkpoint.state.step;
  RC_CHECK(step >= 0, "{}", step);
  create_folder(folder_);
  const FolderLock lock(folder_);
  remove_leftovers(folder_);

  IncomingFolder incoming(folder_, name_of(step));
  write_files(incoming.path(), checkpoint);
  incoming.put_in_place(!damaged_.contains(name_of(step)));
  damaged_.erase(name_of(step));

  // From here on the new checkpoint is on disk, and what it makes needless can go.
  bool kept_previous = false;
  for (const Entry& entry : entries_in(folder_)) {
    const bool damaged = damaged_.contains(entry.name);
    const bool needless = entry.step == step ? entry.replaced : entry.step < step && kept_previous;
    if (damaged || needless) {
      retire(folder_, entry.name);
    } else if (entry.step < step) {
      kept_previous = true;
    }
  }
  damaged_.clear();
}

Checked<Checkpoint> CheckpointFolder::load() {
  std::error_code error;
  const auto entries =
      fs::is_directory(folder_, error) ? entries_in(folder_) : std::vector<Entry>();
  if (entries.empty()) return Checked<Checkpoint>::reject({no_checkpoint(folder_)});
  Findings notes;
  std::string complaints;
  for (const Entry& entry : entries) {
    auto loaded = load_checkpoint(folder_ / entry.name);
    if (auto* checkpoint = std::get_if<Checkpoint>(&loaded)) {
      return Checked<Checkpoint>::accept(std::move(*checkpoint), std::move(notes));
    }
    const std::string& text = std::get<Complaint>(loaded).text;
    damaged_.insert(entry.name);
    complaints += "\n  " + text;
    notes.push_back({"checkpoint.damaged",
                     fmt::format("{} is damaged and was passed over for the one before: {}",
                                 (folder_ / entry.name).string(), text),
                     "", Severity::kNote});
  }
  throw Error("no checkpoint in {} is whole:{}", folder_.string(), complaints);
}

Findings CheckpointFolder::check_start(int64_t step) const {
  std::error_code error;
  if (!fs::is_directory(folder_, error)) return {};
  for (const Entry& entry : entries_in(folder_)) {
    if (entry.step <= step || damaged_.contains(entry.name)) continue;
    return {{"checkpoint.folder-in-use",
             fmt::format("--save must not name a folder with later checkpoints of another run: {} "
                         "holds {}, and this run starts at step {}",
                         folder_.string(), entry.name, step),
             fmt::format("--resume {0} to go on from there, another folder, or remove {0}",
                         folder_.string())}};
  }
  return {};
}

}  // namespace refrain::train
