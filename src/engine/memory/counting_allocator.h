// The CPU allocator of the engine: counts every byte LibTorch asks for, by account.
//
// It takes the place of LibTorch's own CPU allocator, so nothing that a kernel allocates can hide:
// what is not tagged is scratch.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/quantity.h"
#include "ledger/ledger.h"
#include "program/program.h"

namespace refrain::engine {

/// Installs the allocator for the life of the process; later calls do nothing. Call it before the
/// first tensor is made: what is older is not counted.
void install_counting_allocator();

/// Allocations of this thread are posted to `account` while the scope lives (default: kScratch).
class AccountScope {
 public:
  explicit AccountScope(program::Account account);
  ~AccountScope();
  AccountScope(const AccountScope&) = delete;
  AccountScope& operator=(const AccountScope&) = delete;

 private:
  program::Account outer_;
};

/// Moves a tensor's storage to another account.
void post_to(const at::Tensor& tensor, program::Account account);

/// Bytes held now, as requested (no rounding, no headers).
ledger::Balances held_by_account();
Bytes held();

/// Most bytes held at any moment since reset_peak.
Bytes peak_held();
void reset_peak();

}  // namespace refrain::engine
