// Tiles of bf16 operands in shared memory, and their fragments for tensor cores.
//
// Copies write chunks of 16 bytes, and load_matrices reads eight rows of them at once. A chunk is stored at
// its index in the row XORed with the row, so that these eight are in different banks.
#pragma once
#include <cstdint>

#include "warp.h"

namespace cairn::cuda {

// Numbers along k of a tile: one step.
constexpr int kStep = 32;

// Address of chunk `chunk` of row `row` in a tile with rows of `width` numbers.
template <int width>
__device__ inline uint32_t chunk_at(int row, int chunk) {
  static_assert(width == 32 || width % 64 == 0);
  const int swizzled = width == 32 ? chunk ^ ((row >> 1) & 3) : chunk ^ (row & 7);
  return uint32_t(row * width * 2 + swizzled * 16);
}

// The same in a tile whose `rows` rows run across k: panels of 64 columns, one after the other.
template <int rows>
__device__ inline uint32_t panel_chunk_at(int row, int chunk) {
  return uint32_t(chunk / 8 * rows * 128) + chunk_at<64>(row, chunk % 8);
}

// A tile of `size` rows or columns of an operand and `depth` along k. Its rows in shared memory are rows of
// memory: along k, or across.
template <bool along_k, int size, int threads, int depth = kStep>
struct OperandTile {
  static constexpr int kBytes = size * depth * 2, kChunksOfRow = (along_k ? depth : size) / 8,
                       kRowsOfPass = threads / kChunksOfRow, kPasses = size * depth / 8 / threads;

  const uint16_t* from;
  int64_t pass, step;
  // Remaining rows or columns across k, counted from this thread's first.
  int left, row, chunk;

  // `first` is the first of the tile's `count` rows or columns across k.
  __device__ OperandTile(const uint16_t* base, int64_t ld, int first, int count)
      : row(int(threadIdx.x) / kChunksOfRow), chunk(int(threadIdx.x) % kChunksOfRow) {
    if (along_k) {
      from = base + (first + row) * ld + chunk * 8;
      left = count - first - row;
      step = 1;
    } else {
      from = base + row * ld + first + chunk * 8;
      left = count - first - chunk * 8;
      step = ld;
    }
    pass = kRowsOfPass * ld;
  }

  // Copies the numbers from k on, out of `count` in all.
  __device__ void copy(uint32_t tile, int k, int count) const {
#pragma unroll
    for (int i = 0; i < kPasses; i++) {
      const int r = row + i * kRowsOfPass;
      const bool is_there = along_k ? i * kRowsOfPass < left && k + chunk * 8 < count
                                    : 0 < left && k + r < count;
      copy_async(tile + (along_k ? chunk_at<depth>(r, chunk) : panel_chunk_at<depth>(r, chunk)),
          is_there ? from + k * step + i * pass : from, is_there);
    }
  }
};

// Fragments of 16 rows of a from `row` on, 16 along k from `k` on.
template <bool along_k, int depth = kStep>
__device__ inline void load_left(uint32_t tile, int row, int k, uint32_t (&to)[4]) {
  const int lane = int(threadIdx.x) % kWarp;
  if (along_k) load_matrices(tile + chunk_at<depth>(row + lane % 16, k / 8 + lane / 16), to);
  else
    load_transposed(
        tile + panel_chunk_at<depth>(k + lane % 8 + lane / 16 * 8, row / 8 + lane / 8 % 2), to);
}

// Fragments of 16 columns of b: upper and lower half of k of the first eight columns, then of the others.
template <bool along_k, int depth = kStep>
__device__ inline void load_right(uint32_t tile, int column, int k, uint32_t (&to)[4]) {
  const int lane = int(threadIdx.x) % kWarp;
  if (along_k)
    load_matrices(tile + chunk_at<depth>(column + lane % 8 + lane / 16 * 8, k / 8 + lane / 8 % 2), to);
  else load_transposed(tile + panel_chunk_at<depth>(k + lane % 16, column / 8 + lane / 16), to);
}

}  // namespace cairn::cuda
