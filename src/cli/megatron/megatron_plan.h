// `refrain plan --hardware D`: a Megatron run.
#pragma once

#include <string>
#include <vector>

namespace refrain::cli {

/// The exit code; `arguments` are those after `plan`.
int megatron_plan(const std::vector<std::string>& arguments);

}  // namespace refrain::cli
