// Training text: any file, or every text file of a folder, as one run of bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/finding.h"
#include "train/disk/mapped_file.h"

namespace refrain::train {

/// Tokens are bytes, 0 to 255: a model needs a vocabulary of at least this size.
inline constexpr int64_t kByteVocab = 256;

/// The files' bytes one after the other, mapped, without anything between them. Reading is safe
/// from several threads. The files must not be shortened meanwhile (see MappedFile).
class Corpus {
 public:
  /// In this order; RC_CHECKs that none is empty.
  explicit Corpus(std::vector<MappedFile> files);

  /// In bytes, which are tokens.
  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  int64_t num_files() const { return static_cast<int64_t>(files_.size()); }

  /// Copies bytes [begin, begin + out.size()); RC_CHECKs that they exist.
  void read(int64_t begin, std::span<std::byte> out) const;

 private:
  std::vector<MappedFile> files_;
  std::vector<int64_t> ends_;  // where each file ends in the run of bytes
};

/// Opens a file, whatever it holds, or all text files below a folder in the order of their paths.
/// Of a folder, files and folders whose name begins with a dot, empty files, files with a zero byte
/// in their first 4 KiB and what is not a file are passed over: one note data.skipped counts them.
/// Findings: data.missing (no such path), data.unreadable (lists the first few files and why),
/// data.not-a-file (a pipe, a device), data.empty (no text is left), data.too-many-files.
Checked<Corpus> open_corpus(const std::filesystem::path& path);

/// The corpus of a run that names none: the environment's REFRAIN_CORPUS, or else the headers of
/// the LibTorch that this was built with. Finding data.no-default where those are not there.
Checked<std::filesystem::path> default_corpus_path();

}  // namespace refrain::train
