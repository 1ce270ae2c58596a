#include "train/data/folder_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

namespace refrain::train {
namespace {

namespace fs = std::filesystem;

class FolderWalk {
 public:
  FolderListing run(const fs::path& root) {
    visit_folder(root);
    // Links are followed last, so that what lies in the tree is known by its place in the tree.
    // Links found on the way are appended, and followed in their turn.
    for (size_t i = 0; i < links_.size(); ++i) visit(fs::path(links_[i]));
    std::ranges::sort(listing_.files, {}, &fs::path::native);
    std::ranges::sort(listing_.unreadable);
    return std::move(listing_);
  }

 private:
  void visit_folder(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::directory_entry> entries;
    fs::directory_iterator it(folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) entries.push_back(*it);
    if (error) return fail(folder, error);
    if (!first_visit(folder)) return;
    std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) -> const std::string& {
      return entry.path().native();
    });
    for (const fs::directory_entry& entry : entries) {
      if (entry.path().filename().native().starts_with('.')) {
        ++listing_.num_hidden;
      } else if (entry.is_symlink(error)) {
        links_.push_back(entry.path());
      } else {
        visit(entry.path());
      }
    }
  }

  void visit(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found && !error) {
      error = std::make_error_code(std::errc::no_such_file_or_directory);
    }
    if (error) return fail(path, error);
    if (fs::is_directory(status)) return visit_folder(path);
    if (!fs::is_regular_file(status)) {
      ++listing_.num_special;
    } else if (first_visit(path)) {
      listing_.files.push_back(path);
    }
  }

  bool first_visit(const fs::path& path) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error) return fail(path, error), false;
    if (seen_.insert(real.native()).second) return true;
    ++listing_.num_repeated;
    return false;
  }

  void fail(const fs::path& path, const std::error_code& error) {
    listing_.unreadable.push_back(fmt::format("{}: {}", path.string(), error.message()));
  }

  FolderListing listing_;
  std::set<std::string> seen_;  // real paths
  std::vector<fs::path> links_;
};

}  // namespace

FolderListing list_folder(const std::filesystem::path& root) { return FolderWalk().run(root); }

}  // namespace refrain::train
