// `refrain calibrate`: this machine's rates, printed and saved.
#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "cli/engine_commands.h"
#include "cli/spine.h"
#include "train/calibration.h"
#include "train/session.h"

namespace refrain::cli {

int engine_calibrate(const config::CalibrateOptions& options) {
  const Checked<train::Windows> windows =
      train::open_windows(options.data, options.model, options.shape.seq);
  tell(windows.findings);
  if (!windows.value) return kExitFindings;
  const std::string text = cost::to_json(train::calibrate(options, *windows.value));
  print(text);
  if (options.save.empty()) return kExitOk;
  std::ofstream file(options.save, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error("writing the rates: {} cannot be written", options.save);
  return kExitOk;
}

}  // namespace refrain::cli
