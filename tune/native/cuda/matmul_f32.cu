// Products in f32 arithmetic, for operands with any strides: each block computes 64×64 numbers of the result,
// each a single chain of multiply-adds along k. Not optimised: f32 products are small or part of tests.
#include "floats.h"
#include "matmul_f32.h"
#include "work.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kTile = 64, kDepth = 16, kOwn = 4, kThreads = 256;

// Copies rows [first, first + kTile) of an operand, numbers [k0, k0 + kDepth) along k. Zeros past the ends.
__device__ inline void load_tile(
    const PlainOperand& o, int64_t skip, int first, int count, int k0, int k, float (*to)[kTile + 1]) {
  for (int i = int(threadIdx.x); i < kTile * kDepth; i += kThreads) {
    const bool along_k = o.k_stride == 1;
    const int row = along_k ? i / kDepth : i % kTile, at = along_k ? i % kDepth : i / kTile;
    to[at][row] = first + row < count && k0 + at < k
                      ? load_float(o.data, o.dtype,
                            skip + (first + row) * o.row_stride + (k0 + at) * o.k_stride)
                      : 0.0f;
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) matmul_f32(const __grid_constant__ MatmulF32 p) {
  __shared__ float tile_a[kDepth][kTile + 1], tile_b[kDepth][kTile + 1];
  const Matmul& m = p.result;
  ResultTile place{int(blockIdx.x) * kTile, int(blockIdx.y) * kTile, m.m, 0};
  int64_t skip_a = 0, y_row = 0;
  int k[2] = {m.k[0], m.k[1]};
  if (m.ends && p.sums_rows) {
    const int e = place.matrix = int(blockIdx.z), start = e > 0 ? m.ends[e - 1] : 0;
    skip_a = start;
    k[0] = m.ends[e] - start;
    y_row = int64_t(e) * m.m;
  } else if (m.ends && !expert_tile_of(m, kTile, int(blockIdx.x), place)) {
    return;
  }
  if (m.live_rows) {
    const int live = *m.live_rows - m.first_row;
    place.rows = live < place.rows ? live : place.rows;
  }
  if (place.row >= place.rows) return;
  const int own_row = int(threadIdx.x) / 16 * kOwn, own_column = int(threadIdx.x) % 16 * kOwn;
  float sums[kOwn][kOwn] = {};
  for (int pair = 0; pair < 2; pair++) {
    const PlainOperand &a = p.a[pair], &b = p.b[pair];
    const int64_t from_a = skip_a * a.k_stride, from_b = skip_a * b.k_stride + place.matrix * m.b_next[pair];
    for (int k0 = 0; k0 < k[pair]; k0 += kDepth) {
      load_tile(a, from_a, place.row, place.rows, k0, k[pair], tile_a);
      load_tile(b, from_b, place.column, m.n, k0, k[pair], tile_b);
      __syncthreads();
#pragma unroll
      for (int at = 0; at < kDepth; at++)
#pragma unroll
        for (int i = 0; i < kOwn; i++)
#pragma unroll
          for (int j = 0; j < kOwn; j++)
            sums[i][j] = fmaf(tile_a[at][own_row + i], tile_b[at][own_column + j], sums[i][j]);
      __syncthreads();
    }
  }
#pragma unroll
  for (int i = 0; i < kOwn; i++)
#pragma unroll
    for (int j = 0; j < kOwn; j++) {
      const int row = place.row + own_row + i, column = place.column + own_column + j;
      if (row < place.rows && column < m.n) finish_one(m, place.matrix, y_row + row, column, sums[i][j]);
    }
}
