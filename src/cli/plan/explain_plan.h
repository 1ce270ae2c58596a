// `refrain explain FILE.json`: a plan that `refrain plan --save` wrote.
#pragma once

#include <string>
#include <vector>

namespace refrain::cli {

/// True where the only argument is called like a plan file.
bool names_plan_file(const std::vector<std::string>& arguments);

/// Prints the run, and what is recomputed of each layer and why; the exit code.
int explain_plan(const std::string& path);

}  // namespace refrain::cli
