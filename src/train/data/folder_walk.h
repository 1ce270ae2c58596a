// Which files of a folder are its text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace refrain::train {

/// The regular files below a folder, and what was passed over, by reason.
struct FolderListing {
  std::vector<std::filesystem::path> files;  // sorted by their path as bytes
  std::vector<std::string> unreadable;       // "PATH: reason"
  int64_t num_hidden = 0;                    // files and folders whose name begins with a dot
  int64_t num_repeated = 0;                  // reached again through a symbolic link
  int64_t num_special = 0;                   // sockets, pipes, devices
};

/// Follows symbolic links, and reads each file and folder once however many lead to it, so that
/// loops end. `root` itself may be hidden. Never throws for what it finds.
FolderListing list_folder(const std::filesystem::path& root);

}  // namespace refrain::train
