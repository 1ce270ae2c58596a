// The subcommands that judge and explain configurations. They take the arguments after their name
// and return the exit code.
#pragma once

#include <string>
#include <vector>

namespace refrain::cli {

int check_command(const std::vector<std::string>& arguments);
int diff_command(const std::vector<std::string>& arguments);
int explain_command(const std::vector<std::string>& arguments);
int knobs_command(const std::vector<std::string>& arguments);
int recipes_command(const std::vector<std::string>& arguments);
int rules_command(const std::vector<std::string>& arguments);

}  // namespace refrain::cli
