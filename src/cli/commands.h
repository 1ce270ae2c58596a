// The subcommands of `refrain`, one file each. They take the arguments after their name and return
// the exit code.
#pragma once

#include <string>
#include <vector>

namespace refrain::cli {

int accuracy_command(const std::vector<std::string>& arguments);
int train_command(const std::vector<std::string>& arguments);
int bench_command(const std::vector<std::string>& arguments);
int calibrate_command(const std::vector<std::string>& arguments);
int labels_command(const std::vector<std::string>& arguments);
int ledger_command(const std::vector<std::string>& arguments);
int models_command(const std::vector<std::string>& arguments);
int plan_command(const std::vector<std::string>& arguments);

}  // namespace refrain::cli
