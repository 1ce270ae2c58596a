// The two families of failure that are exceptions.
//
// Error: the world failed (a file, an allocation, a peer); says what was being done; exit code 1.
// Bug: RC_CHECK found that we were wrong; never reachable from input; exit code 3.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace refrain {

class Error : public std::runtime_error {
 public:
  template <class... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* expression, const char* file, int line,
                             const std::string& values);

}  // namespace refrain

/// Holds, or we were wrong. The text after the condition is a fmt format string with its values.
#define RC_CHECK(condition, ...)                                                            \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      ::refrain::fail_check(#condition, __FILE__, __LINE__, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                       \
  } while (false)
