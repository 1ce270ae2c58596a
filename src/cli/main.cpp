// `refrain`: everything that needs no LibTorch. Starts in milliseconds; hands training over to
// `refrain-engine`.
#include "cli/check/commands.h"
#include "cli/commands.h"
#include "cli/plan/explain_plan.h"
#include "cli/spine.h"

int main(int argc, char** argv) {
  using namespace refrain::cli;
  constexpr auto kExplain = [](const std::vector<std::string>& arguments) {
    return names_plan_file(arguments) ? explain_plan(arguments[0]) : explain_command(arguments);
  };
  constexpr Subcommand kSubcommands[] = {
      {"train", "train a model under a recompute setting", train_command},
      {"bench", "run recompute settings in alternation and compare them", bench_command},
      {"ledger", "print what a training step holds, to the byte, without running it",
       ledger_command},
      {"plan", "choose what to recompute under a memory budget", plan_command},
      {"calibrate", "measure this machine's rates, which plans are priced with", calibrate_command},
      {"accuracy", "predict measured runs, and say how far off that is", accuracy_command},
      {"labels", "print what each recompute label frees and repeats", labels_command},
      {"models", "list the models known by name", models_command},
      {"check", "judge a configuration as Megatron would, before a device is touched",
       check_command},
      {"recipes", "list published recipes, and judge them", recipes_command},
      {"diff", "print what two configurations differ in", diff_command},
      {"rules", "list the rules that check holds configurations against", rules_command},
      {"knobs", "list the knobs that check judges", knobs_command},
      {"explain", "explain a rule, a knob, a label or a saved plan", kExplain},
  };
  return run_spine("refrain", kSubcommands, argc, argv);
}
