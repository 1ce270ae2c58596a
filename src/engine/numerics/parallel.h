// Loops over several threads, on LibTorch's own OpenMP pool.
//
// at::parallel_for is inlined from a header and runs serially in a file compiled without -fopenmp,
// and -fopenmp would load a second OpenMP runtime beside the one of LibTorch's wheel. So the
// entry point of the runtime that is already there is looked up once and called directly; where
// there is none, loops run serially. A library call inside a task (MKL's GEMM) sees the parallel
// region and stays on the task's own thread.
//
// Results must never depend on the number of threads: a task's bounds follow from the problem
// alone, and a reduction over tasks adds one partial result a task in their order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace refrain::engine {

/// Workers of a loop started here: at::get_num_threads(), or 1 inside a loop or without OpenMP.
int64_t num_workers();

/// What parallel_for erases its callable to.
struct TaskRef {
  void (*call)(const void* function, int64_t task, int64_t worker);
  const void* function;
};

/// See parallel_for.
void run_tasks(int64_t num_tasks, TaskRef task);

/// Calls f(task, worker) once for each task in [0, num_tasks), handed out dynamically; `worker` is
/// below at::get_num_threads(), and tasks of one worker never overlap in time. Runs inline (worker
/// 0) with one thread, one task, or inside another loop. The first exception of a task is rethrown
/// here, after the others have stopped; tasks not yet started are skipped.
template <class F>
void parallel_for(int64_t num_tasks, const F& f) {
  run_tasks(num_tasks, {[](const void* function, int64_t task, int64_t worker) {
                          (*static_cast<const F*>(function))(task, worker);
                        },
                        &f});
}

/// Calls f(begin, end) on consecutive pieces of [0, rows), each of `grain` rows but the last.
template <class F>
void parallel_rows(int64_t rows, int64_t grain, const F& f) {
  const int64_t num_pieces = (rows + grain - 1) / grain;
  parallel_for(num_pieces, [&](int64_t piece, int64_t) {
    f(piece * grain, std::min(rows, (piece + 1) * grain));
  });
}

/// Rows a task of an element-wise loop takes: enough elements to be worth handing out.
inline int64_t row_grain(int64_t columns) {
  constexpr int64_t kElements = 16384;  // some 10 us of work, 64 KiB of float32
  return std::max<int64_t>(1, kElements / std::max<int64_t>(1, columns));
}

}  // namespace refrain::engine
