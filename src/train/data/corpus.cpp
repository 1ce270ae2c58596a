#include "train/data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <variant>

#include "base/error.h"
#include "train/data/folder_walk.h"

namespace refrain::train {
namespace {

namespace fs = std::filesystem;

// Each file takes one of the 65530 mappings that Linux gives a process unless told otherwise
// (vm.max_map_count); the rest is for libraries, threads and large allocations.
constexpr size_t kMaxFiles = 50'000;

constexpr std::string_view kGiveText = "give --data a text file, or a folder of text files";

bool looks_binary(std::span<const std::byte> bytes) {
  constexpr size_t kLooked = 4096;  // as far as other tools look to tell text from data
  return std::memchr(bytes.data(), 0, std::min(kLooked, bytes.size())) != nullptr;
}

/// "A; B; C; and 7 more".
std::string join_first(const std::vector<std::string>& lines) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(kShown, lines.size());
  std::string text = fmt::format("{}", fmt::join(lines.begin(), lines.begin() + shown, "; "));
  if (lines.size() > shown) text += fmt::format("; and {} more", lines.size() - shown);
  return text;
}

Finding unreadable(const std::vector<std::string>& files) {
  return {"data.unreadable",
          fmt::format("every file of the corpus must be readable; {} cannot be read: {}",
                      files.size() == 1 ? "one" : std::to_string(files.size()), join_first(files)),
          "make them readable, move them away, or give another --data"};
}

Finding empty(const fs::path& path, std::string_view what) {
  return {"data.empty", fmt::format("the corpus must hold text: {} {}", path.string(), what),
          std::string(kGiveText)};
}

/// What a folder's files come to.
struct Opened {
  std::vector<MappedFile> files;
  std::vector<std::string> unreadable;
  int64_t num_empty = 0, num_binary = 0;
};

Opened open_files(const std::vector<fs::path>& paths) {
  Opened opened;
  for (const fs::path& path : paths) {
    auto mapped = map_file(path);
    if (const auto* error = std::get_if<std::error_code>(&mapped)) {
      opened.unreadable.push_back(fmt::format("{}: {}", path.string(), error->message()));
      continue;
    }
    auto& file = std::get<MappedFile>(mapped);
    if (file.bytes().empty()) {
      ++opened.num_empty;
    } else if (looks_binary(file.bytes())) {
      ++opened.num_binary;
    } else {
      opened.files.push_back(std::move(file));
    }
  }
  return opened;
}

Findings skipped(const FolderListing& listing, const Opened& opened) {
  const std::pair<int64_t, std::string_view> reasons[] = {
      {listing.num_hidden, "hidden"},
      {opened.num_empty, "empty"},
      {opened.num_binary, "not text (a zero byte in the first 4 KiB)"},
      {listing.num_repeated, "reached again through a symbolic link"},
      {listing.num_special, "neither file nor folder"},
  };
  std::vector<std::string> counts;
  for (const auto& [count, reason] : reasons) {
    if (count > 0) counts.push_back(fmt::format("{} {}", count, reason));
  }
  if (counts.empty()) return {};
  return {{"data.skipped", fmt::format("passed over: {}", fmt::join(counts, ", ")), "",
           Severity::kNote}};
}

Checked<Corpus> open_folder(const fs::path& path) {
  FolderListing listing = list_folder(path);
  if (listing.files.size() > kMaxFiles) {
    return Checked<Corpus>::reject(
        {{"data.too-many-files",
          fmt::format("a corpus must have at most {} files, each of which is mapped: {} has {}",
                      kMaxFiles, path.string(), listing.files.size()),
          "join them into fewer and larger files"}});
  }
  Opened opened = open_files(listing.files);
  Findings findings = skipped(listing, opened);
  std::vector<std::string> failures = std::move(listing.unreadable);
  failures.insert(failures.end(), opened.unreadable.begin(), opened.unreadable.end());
  if (!failures.empty()) findings.push_back(unreadable(failures));
  if (opened.files.empty() && failures.empty())
    findings.push_back(empty(path, "holds no text file"));
  if (rejects(findings)) return Checked<Corpus>::reject(std::move(findings));
  return Checked<Corpus>::accept(Corpus(std::move(opened.files)), std::move(findings));
}

Checked<Corpus> open_file(const fs::path& path) {
  auto mapped = map_file(path);
  if (const auto* error = std::get_if<std::error_code>(&mapped)) {
    const std::string line = fmt::format("{}: {}", path.string(), error->message());
    return Checked<Corpus>::reject({unreadable({line})});
  }
  auto& file = std::get<MappedFile>(mapped);
  if (file.bytes().empty()) return Checked<Corpus>::reject({empty(path, "is an empty file")});
  std::vector<MappedFile> files;
  files.push_back(std::move(file));
  return Checked<Corpus>::accept(Corpus(std::move(files)));
}

}  // namespace

Corpus::Corpus(std::vector<MappedFile> files) : files_(std::move(files)) {
  for (const MappedFile& file : files_) {
    RC_CHECK(!file.bytes().empty());
    ends_.push_back(size() + std::ssize(file.bytes()));
  }
}

void Corpus::read(int64_t begin, std::span<std::byte> out) const {
  RC_CHECK(begin >= 0 && std::ssize(out) <= size() && begin <= size() - std::ssize(out),
           "[{}, + {}) of {}", begin, out.size(), size());
  // The first file that ends behind `begin` holds it.
  auto file = std::ranges::upper_bound(ends_, begin) - ends_.begin();
  for (; !out.empty(); ++file) {
    const auto bytes = files_[file].bytes();
    const int64_t skip = begin - (ends_[file] - std::ssize(bytes));
    const auto piece = bytes.subspan(skip, std::min(bytes.size() - skip, out.size()));
    std::ranges::copy(piece, out.begin());
    out = out.subspan(piece.size());
    begin += std::ssize(piece);
  }
}

Checked<Corpus> open_corpus(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return Checked<Corpus>::reject(
        {{"data.missing", fmt::format("the corpus must exist: there is no {}", path.string()),
          std::string(kGiveText)}});
  }
  if (error) {
    const std::string line = fmt::format("{}: {}", path.string(), error.message());
    return Checked<Corpus>::reject({unreadable({line})});
  }
  if (fs::is_directory(status)) return open_folder(path);
  if (fs::is_regular_file(status)) return open_file(path);
  return Checked<Corpus>::reject(
      {{"data.not-a-file",
        fmt::format("the corpus must be a file or a folder, which can be read in any order: {}",
                    path.string()),
        "write the text into a file first"}});
}

Checked<fs::path> default_corpus_path() {
  if (const char* named = std::getenv("REFRAIN_CORPUS"); named && *named) {
    return Checked<fs::path>::accept(named);
  }
  const fs::path built_in = REFRAIN_DEFAULT_CORPUS;
  std::error_code error;
  if (fs::is_directory(built_in, error)) return Checked<fs::path>::accept(built_in);
  return Checked<fs::path>::reject(
      {{"data.no-default",
        fmt::format("a run without --data trains on LibTorch's headers, which must be where this "
                    "was built: there is no folder {}",
                    built_in.empty() ? "of them" : built_in.string()),
        std::string(kGiveText) + ", or set REFRAIN_CORPUS"}});
}

}  // namespace refrain::train
