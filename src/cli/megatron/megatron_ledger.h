// `refrain ledger --mcore`: the accounts of a Megatron run's pipeline ranks.
#pragma once

#include <string>
#include <vector>

namespace refrain::cli {

/// The exit code; `arguments` are those after `ledger`.
int megatron_ledger(const std::vector<std::string>& arguments);

}  // namespace refrain::cli
