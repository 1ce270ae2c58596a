// OpenMP's fork and join with std::thread, for the `tsan` preset alone.
//
// ThreadSanitizer cannot see libgomp's barriers: every loop of ours would be reported as a race, or
// all of them would have to be suppressed. So what engine/numerics/parallel.cpp looks up in the
// OpenMP runtime is found here instead (the linker sends our calls of dlsym to __wrap_dlsym).
// LibTorch's own loops keep libgomp.
//
// LibTorch does not know that such a thread is inside a loop and starts loops of its own there,
// which is slower but right; the preset leaves out the one test that says otherwise.
#include <string_view>
#include <thread>
#include <vector>

namespace {

thread_local int thread_number = 0;
thread_local bool in_parallel = false;

void work_as(int number, void (*body)(void*), void* data) {
  thread_number = number;
  in_parallel = true;
  body(data);
  thread_number = 0;
  in_parallel = false;
}

/// libgomp's entry of `#pragma omp parallel` (libgomp manual, "Implementing PARALLEL construct").
void parallel(void (*body)(void*), void* data, unsigned num_threads, unsigned) {
  std::vector<std::thread> team;
  for (unsigned number = 1; number < num_threads; ++number) {
    team.emplace_back(work_as, static_cast<int>(number), body, data);
  }
  work_as(0, body, data);
  for (std::thread& member : team) member.join();
}

int current_thread_number() { return thread_number; }
int is_in_parallel() { return in_parallel ? 1 : 0; }

}  // namespace

extern "C" {

void* __real_dlsym(void* handle, const char* name);

void* __wrap_dlsym(void* handle, const char* name) {
  const std::string_view wanted = name;
  if (wanted == "GOMP_parallel") return reinterpret_cast<void*>(parallel);
  if (wanted == "omp_get_thread_num") return reinterpret_cast<void*>(current_thread_number);
  if (wanted == "omp_in_parallel") return reinterpret_cast<void*>(is_in_parallel);
  return __real_dlsym(handle, name);
}
}
