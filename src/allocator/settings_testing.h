// What PYTORCH_CUDA_ALLOC_CONF says, for tests that take it as right.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "allocator/settings.h"

namespace refrain::allocator {

inline Settings parse(std::string_view text) {
  const Checked<Settings> checked = parse_settings(text);
  EXPECT_TRUE(checked.value) << text << "\n" << to_text(checked.findings);
  return checked.value.value_or(Settings());
}

}  // namespace refrain::allocator
