#include "train/session.h"

#include <fmt/format.h>

namespace refrain::train {

Checked<Windows> open_windows(const config::DataOptions& data, const config::ModelConfig& model,
                              int64_t seq) {
  if (model.vocab < kByteVocab) {
    return Checked<Windows>::reject(
        {{"data.vocab",
          fmt::format("text is read as bytes, which needs a vocabulary of {}: {} has {}",
                      kByteVocab, model.name, model.vocab),
          "train a model whose vocabulary is at least 256"}});
  }
  std::filesystem::path path = data.path;
  if (data.path.empty()) {
    Checked<std::filesystem::path> found = default_corpus_path();
    if (!found.value) return Checked<Windows>::reject(std::move(found.findings));
    path = *found.value;
  }
  Checked<Corpus> corpus = open_corpus(path);
  if (!corpus.value) return Checked<Windows>::reject(std::move(corpus.findings));
  Checked<Windows> windows = make_windows(*std::move(corpus.value), seq, data.seed);
  windows.findings.insert(windows.findings.begin(), corpus.findings.begin(), corpus.findings.end());
  return windows;
}

}  // namespace refrain::train
