// Writing that survives a crash: files and folders that are on disk once a call returns.
//
// Every function throws Error that says what it was doing to which path, and why that failed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "train/disk/checksum.h"
#include "train/disk/file_handle.h"

namespace refrain::train {

/// A new file, written from the front. What is not closed is left behind as it is.
class DurableFile {
 public:
  /// Creates the file, or empties the one that is there.
  explicit DurableFile(std::filesystem::path path);

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Waits until every byte is on the disk; to be called once, last.
  FileSum close();

 private:
  std::filesystem::path path_;
  FileHandle file_;
  Checksum checksum_;
  int64_t size_ = 0;
};

/// Waits until the names in this folder are on the disk.
void sync_folder(const std::filesystem::path& folder);

/// Creates the folder and the missing ones above it, and syncs their parents.
void create_folder(const std::filesystem::path& folder);

/// Renames `from` to `to` in the same folder, which is not synced.
void rename_folder(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes the folder with all that is in it; nothing where it is not there.
void remove_folder(const std::filesystem::path& folder);

/// Holds `folder`/.lock against other processes while it lives; given up by the kernel when the
/// process ends, however it ends. Throws Error where another process holds it.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);

 private:
  FileHandle file_;
};

}  // namespace refrain::train
