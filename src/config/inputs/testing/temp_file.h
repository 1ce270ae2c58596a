// A file that is there for as long as a test wants it.
#pragma once

#include <string>
#include <string_view>

namespace refrain::config {

class TempFile {
 public:
  /// `name` ends the file's name, and is this test's own.
  TempFile(const std::string& name, std::string_view text);
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }
  void append(std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace refrain::config
