#include "engine/numerics/parallel.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <mutex>

namespace refrain::engine {
namespace {

/// The entry points of GNU's OpenMP runtime (its ABI, which LLVM's and Intel's export as well);
/// null where LibTorch was built without OpenMP.
struct OpenMp {
  void (*parallel)(void (*function)(void*), void* data, unsigned num_threads, unsigned flags);
  int (*thread_num)();
  int (*in_parallel)();

  bool present() const { return parallel && thread_num && in_parallel; }
};

template <class Function>
void look_up(const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

const OpenMp& open_mp() {
  static const OpenMp runtime = [] {
    OpenMp found{};
    look_up("GOMP_parallel", found.parallel);
    look_up("omp_get_thread_num", found.thread_num);
    look_up("omp_in_parallel", found.in_parallel);
    return found;
  }();
  return runtime;
}

// Inside a loop of ours, on any of its threads: also where it runs inline.
thread_local bool inside_loop = false;

/// Marks this thread as inside a loop for as long as it lives.
class LoopScope {
 public:
  LoopScope() : outer_(inside_loop) { inside_loop = true; }
  ~LoopScope() { inside_loop = outer_; }
  LoopScope(const LoopScope&) = delete;
  LoopScope& operator=(const LoopScope&) = delete;

 private:
  bool outer_;
};

// Crossed on both sides of both ends of a loop: the runtime's own barriers order memory just so,
// but a race detector does not see into the runtime.
std::atomic<int64_t> boundary{0};

void cross_boundary() { boundary.fetch_add(1, std::memory_order_acq_rel); }

/// One loop, shared by its threads.
struct Loop {
  int64_t num_tasks;
  TaskRef task;
  std::atomic<int64_t> next{0};
  std::mutex mutex{};
  std::exception_ptr failure{};  // the first; guarded by mutex

  void work(int64_t worker) {
    const LoopScope scope;
    try {
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < num_tasks;) {
        task.call(task.function, i, worker);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next.store(num_tasks, std::memory_order_relaxed);
    }
  }
};

}  // namespace

int64_t num_workers() {
  if (inside_loop || !open_mp().present() || open_mp().in_parallel()) return 1;
  return at::get_num_threads();
}

void run_tasks(int64_t num_tasks, TaskRef task) {
  const int64_t workers = std::min(num_tasks, num_workers());
  if (workers <= 1) {
    const LoopScope scope;
    for (int64_t i = 0; i < num_tasks; ++i) task.call(task.function, i, 0);
    return;
  }
  Loop loop{.num_tasks = num_tasks, .task = task};
  const auto enter = [](void* data) {
    cross_boundary();
    static_cast<Loop*>(data)->work(open_mp().thread_num());
    cross_boundary();
  };
  cross_boundary();
  open_mp().parallel(enter, &loop, static_cast<unsigned>(workers), 0);
  cross_boundary();
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace refrain::engine
