// Tiles of rows of one head for warpgroups, in panels of 64 numbers, and their products on sm_90's tensor
// cores. Instructions of sm_90a that products of matrices use too are in warp.h.
#pragma once
#include "attention.h"
#include "heads_tiles.h"

namespace cairn::cuda {

// Rows of a block, of a warpgroup, and of a step.
constexpr int kGroupThreads = 256, kBlockRows = 128, kGroupRows = 64, kStepRows = 64;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Bytes of a row of a panel, and of eight.
constexpr int kRowBytes = 128, kEightRows = 8 * kRowBytes;

// Waits until at most `pending` groups of products are in flight. The compiler does not move uses of `sums`
// before the wait, because it takes them for written here.
template <int pending, int parts>
__device__ inline void await_sums(float (&sums)[parts][4]) {
  await_products<pending>();
#pragma unroll
  for (int j = 0; j < parts; j++)
#pragma unroll
    for (int c = 0; c < 4; c++) asm volatile("" : "+f"(sums[j][c])::"memory");
}

// d (64, 64) = a (64, 16) · b (16, 64) of bf16, or += if it `adds`. Rows of both run along k in shared
// memory. Fragments of d as in multiply_add_group.
template <bool adds>
__device__ inline void multiply_group_rows(float (&d)[8][4], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, %34, 1, 1, 0, 0;"
      :
        "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]),
        "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
        "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
        "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]),
        "+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]),
        "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
        "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]),
        "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3])
      : "l"(a), "l"(b), "n"(int(adds)));
}

// d (64, width) += a (64, 16) · b (16, width) of bf16. Each warp has its 16 rows of a as in multiply_add;
// rows of b run across k in shared memory.
__device__ inline void multiply_group_weights(float (&d)[8][4], const uint32_t (&a)[4], uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
      :
        "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]),
        "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
        "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
        "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]),
        "+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]),
        "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
        "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]),
        "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ inline void multiply_group_weights(float (&d)[16][4], const uint32_t (&a)[4], uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
      :
        "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]),
        "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
        "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
        "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]),
        "+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]),
        "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
        "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]),
        "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3]),
        "+f"(d[8][0]), "+f"(d[8][1]), "+f"(d[8][2]), "+f"(d[8][3]),
        "+f"(d[9][0]), "+f"(d[9][1]), "+f"(d[9][2]), "+f"(d[9][3]),
        "+f"(d[10][0]), "+f"(d[10][1]), "+f"(d[10][2]), "+f"(d[10][3]),
        "+f"(d[11][0]), "+f"(d[11][1]), "+f"(d[11][2]), "+f"(d[11][3]),
        "+f"(d[12][0]), "+f"(d[12][1]), "+f"(d[12][2]), "+f"(d[12][3]),
        "+f"(d[13][0]), "+f"(d[13][1]), "+f"(d[13][2]), "+f"(d[13][3]),
        "+f"(d[14][0]), "+f"(d[14][1]), "+f"(d[14][2]), "+f"(d[14][3]),
        "+f"(d[15][0]), "+f"(d[15][1]), "+f"(d[15][2]), "+f"(d[15][3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// Rows of a head in panels of 64 numbers.
template <int width, int rows>
using HeadTile = OperandTile<false, width, kGroupThreads, rows>;

template <int width, int rows>
__device__ inline HeadTile<width, rows> tile_of_head(
    const Attention& p, const void* data, int stride, int head) {
  return {static_cast<const uint16_t*>(data), stride, head * p.width, (head + 1) * p.width};
}

// The warpgroup of this thread, as a number that the compiler knows to be the same in a warp.
__device__ inline int group_of_thread() {
  return __shfl_sync(kAllLanes, int(threadIdx.x) / (4 * kWarp), 0);
}

// Starts sums (64, 64) = rows of `left` from `row` on · the rows of a step, along the head.
template <int width>
__device__ inline void start_scores(uint32_t left, int row, uint32_t right, float (&sums)[8][4]) {
  const uint64_t a = matrix_of(left + row * kRowBytes, kEightRows, 16), b = matrix_of(right, kEightRows, 16);
  const auto at = [](uint64_t matrix, int rows, int k) {
    return later_in(matrix, k / 64 * rows * kRowBytes + k % 64 * 2);
  };
  multiply_group_rows<false>(sums, a, b);
#pragma unroll
  for (int k = 16; k < width; k += 16)
    multiply_group_rows<true>(sums, at(a, kBlockRows, k), at(b, kStepRows, k));
  group_products();
}

// Starts sums (64, width) += weights (64, 64) · the rows of a step.
template <int width>
__device__ inline void start_weighted(
    const uint32_t (&weights)[4][4], uint32_t rows, float (&sums)[width / 8][4]) {
  const uint64_t b = matrix_of(rows, kEightRows, kStepRows * kRowBytes);
#pragma unroll
  for (int k = 0; k < 4; k++)
    multiply_group_weights(sums, weights[k], later_in(b, k * 16 * kRowBytes));
  group_products();
}

// Rounds weights from the layout of sums to bf16 in that of a left operand.
__device__ inline void pack_weights(const float (&from)[8][4], uint32_t (&to)[4][4]) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    to[j / 2][j % 2 * 2] = pack_bf16(from[j][0], from[j][1]);
    to[j / 2][j % 2 * 2 + 1] = pack_bf16(from[j][2], from[j][3]);
  }
}

// Writes this warp's sixteen rows of sums through its rows of a tile that nothing reads any more, because
// fragments alone would write half sectors. `row` is the first one in memory.
template <int width>
__device__ inline void write_sums(char* tile, const Attention& p, void* data, int stride, int head, int row,
    int end, const float (&sums)[width / 8][4]) {
  constexpr int kChunks = width / 8;
  const int lane = int(threadIdx.x) % kWarp, own = int(threadIdx.x) / kWarp * 16;
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int j = 0; j < kChunks; j++) {
      char* const at = tile + panel_chunk_at<kBlockRows>(own + half * 8 + lane / 4, j) + lane % 4 * 4;
      *reinterpret_cast<uint32_t*>(at) = pack_bf16(sums[j][half * 2], sums[j][half * 2 + 1]);
    }
  __syncwarp();
  uint16_t* const to = static_cast<uint16_t*>(data) + int64_t(row) * stride + head * p.width;
#pragma unroll
  for (int i = 0; i < 16 * kChunks / kWarp; i++) {
    const int r = (i * kWarp + lane) / kChunks, chunk = lane % kChunks;
    if (row + r < end && chunk * 8 < p.width)
      *reinterpret_cast<uint4*>(to + int64_t(r) * stride + chunk * 8) =
          *reinterpret_cast<const uint4*>(tile + panel_chunk_at<kBlockRows>(own + r, chunk));
  }
}

#endif

}  // namespace cairn::cuda
