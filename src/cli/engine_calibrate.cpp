// `refrain calibrate`: this machine's rates, printed and saved.
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
  if (!options.save.empty()) save("writing the rates", options.save, text);
  return kExitOk;
}

}  // namespace refrain::cli
