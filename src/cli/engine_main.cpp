// `refrain-engine`: what `refrain train`, `bench` and `calibrate` become once their command line
// has been judged. It reads the same arguments again, so it can also be run by itself.
#include "cli/engine_commands.h"
#include "cli/options.h"
#include "cli/spine.h"

namespace {

using namespace refrain;

template <class Options>
int carry_out(const cli::Parsed<Options>& parsed, int (*command)(const Options&)) {
  if (const auto code = cli::answer(parsed)) return *code;
  cli::tell(parsed.options.findings);  // notes
  return command(*parsed.options.value);
}

int train(const std::vector<std::string>& arguments) {
  return carry_out(cli::parse_train(arguments), cli::engine_train);
}

int bench(const std::vector<std::string>& arguments) {
  return carry_out(cli::parse_bench(arguments), cli::engine_bench);
}

int calibrate(const std::vector<std::string>& arguments) {
  return carry_out(cli::parse_calibrate(arguments), cli::engine_calibrate);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr cli::Subcommand kSubcommands[] = {
      {"train", "train a model under a recompute setting", train},
      {"bench", "run recompute settings in alternation and compare them", bench},
      {"calibrate", "measure this machine's rates, which plans are priced with", calibrate},
  };
  return cli::run_spine("refrain-engine", kSubcommands, argc, argv);
}
