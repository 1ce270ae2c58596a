#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace refrain {
namespace {

thread_local bool inside = false;

}  // namespace

void parallel_for(size_t count, const std::function<void(size_t)>& turn) {
  const size_t num_threads =
      std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  if (inside || num_threads <= 1) {
    for (size_t i = 0; i < count; ++i) turn(i);
    return;
  }
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    inside = true;
    try {
      for (size_t i = next++; i < count; i = next++) turn(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
    inside = false;
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t i = 1; i < num_threads; ++i) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace refrain
