// Row-major matrices in memory of someone else's, and the way in and out of the accumulate type:
// float32 and float64 are used where they lie, bf16 through a buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engine/numerics/dispatch.h"
#include "engine/numerics/parallel.h"

namespace refrain::engine {

/// `rows` x `columns` elements; row i begins at data + i * stride.
template <class T>
struct Matrix {
  T* data;
  int64_t rows, columns, stride;

  T* row(int64_t i) const { return data + i * stride; }
  Matrix row_block(int64_t begin, int64_t count) const {
    return {data + begin * stride, count, columns, stride};
  }
  Matrix column_block(int64_t begin, int64_t count) const {
    return {data + begin, rows, count, stride};
  }
  Matrix<const T> as_const() const { return {data, rows, columns, stride}; }
};

/// A matrix without gaps between its rows.
template <class T>
Matrix<T> dense(T* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns};
}

template <class T>
void fill_zero(Matrix<T> matrix) {
  for (int64_t i = 0; i < matrix.rows; ++i) std::fill_n(matrix.row(i), matrix.columns, T(0));
}

/// Whether values of this storage type go through a buffer of their accumulate type.
template <class Storage>
inline constexpr bool kConverts = !std::is_same_v<Storage, Accumulate<Storage>>;

/// `from` in the accumulate type: itself, or a copy in `buffer`, which holds rows * columns.
template <class Storage>
Matrix<const Accumulate<Storage>> widen(Matrix<const Storage> from, Accumulate<Storage>* buffer) {
  if constexpr (kConverts<Storage>) {
    for (int64_t i = 0; i < from.rows; ++i) {
      const Storage* in = from.row(i);
      Accumulate<Storage>* out = buffer + i * from.columns;
#pragma omp simd
      for (int64_t j = 0; j < from.columns; ++j) out[j] = load(in[j]);
    }
    return dense<const Accumulate<Storage>>(buffer, from.rows, from.columns);
  } else {
    return from;
  }
}

/// Where to compute what is to end up in `to`: `to` itself, or `buffer`.
template <class Storage>
Matrix<Accumulate<Storage>> staged(Matrix<Storage> to, Accumulate<Storage>* buffer) {
  if constexpr (kConverts<Storage>) {
    return dense(buffer, to.rows, to.columns);
  } else {
    return to;
  }
}

/// to = from, or to += from with one rounding.
template <class Storage>
void narrow(Matrix<const Accumulate<Storage>> from, Matrix<Storage> to, bool accumulate) {
  for (int64_t i = 0; i < from.rows; ++i) {
    const Accumulate<Storage>* in = from.row(i);
    Storage* out = to.row(i);
    if (accumulate) {
#pragma omp simd
      for (int64_t j = 0; j < from.columns; ++j) {
        out[j] = round_to<Storage>(load(out[j]) + in[j]);
      }
    } else {
#pragma omp simd
      for (int64_t j = 0; j < from.columns; ++j) out[j] = round_to<Storage>(in[j]);
    }
  }
}

/// widen() by all workers.
template <class Storage>
Matrix<const Accumulate<Storage>> widen_parallel(Matrix<const Storage> from,
                                                 Accumulate<Storage>* buffer) {
  if constexpr (kConverts<Storage>) {
    parallel_rows(from.rows, row_grain(from.columns), [&](int64_t begin, int64_t end) {
      widen(from.row_block(begin, end - begin), buffer + begin * from.columns);
    });
    return dense<const Accumulate<Storage>>(buffer, from.rows, from.columns);
  } else {
    return from;
  }
}

/// narrow() by all workers; nothing where `to` was the stage itself.
template <class Storage>
void narrow_parallel(Matrix<Accumulate<Storage>> stage, Matrix<Storage> to, bool accumulate) {
  if constexpr (kConverts<Storage>) {
    parallel_rows(to.rows, row_grain(to.columns), [&](int64_t begin, int64_t end) {
      narrow(stage.row_block(begin, end - begin).as_const(), to.row_block(begin, end - begin),
             accumulate);
    });
  }
}

}  // namespace refrain::engine
