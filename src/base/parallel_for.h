// A loop whose turns run beside each other.
#pragma once

#include <cstddef>
#include <functional>

namespace refrain {

/// Calls `turn(i)` for every i below `count`, on as many threads as the machine has cores; returns
/// when all are done. Turns must not write what others read. Inside of a turn it is a plain loop.
/// The first exception of a turn is thrown on when all threads have stopped.
void parallel_for(size_t count, const std::function<void(size_t)>& turn);

}  // namespace refrain
