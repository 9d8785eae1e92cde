// Products of fp8 codes on sm_90's tensor cores: activations in E4M3 with a stored weight (nt), gradients in
// E5M2 with its transposed codes (nn). The second pair is bf16, as in matmul_wgmma.cu.
//
// The tensor core keeps about 14 bits of a sum of fp8 products. So a sum runs along one step, of 128 k, and
// is then scaled and added to the sums in f32, while the products of the next step run.
#include "matmul_fp8.h"
#include "work.h"

using namespace cairn::cuda;

namespace {

// A step has 64 pairs of codes, or 64 numbers in bf16.
constexpr int kTile = 128, kDepth = 64, kThreads = 256;
static_assert(kTile == cairn::kFp8Tile && kDepth * 2 == cairn::kFp8Tile, "a step has one scale");

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kBuffers = 4, kPrefetched = 2, kRowsBytes = 8 * 128;

// Operands of codes, and of the second pair: in nn, rows of its b run across k.
using Codes = OperandTile<true, kTile, kThreads, kDepth>;
template <bool is_gradient>
using SecondRight = OperandTile<!is_gradient, kTile, kThreads, kDepth>;
constexpr int kStageBytes = 2 * Codes::kBytes;

template <bool is_gradient>
struct Copies {
  Codes left, right;
  int step;

  __device__ Copies(const Matmul& p, const Work<true>& w)
      : left(w.a[0], p.lda[0], w.place.row, w.place.rows),
        right(w.b[0], p.ldb[0], w.place.column, p.n),
        step(w.first) {}

  // Starts the copies of the next step, in its buffer of `tiles`.
  __device__ void start(const Matmul& p, const Work<true>& w, uint32_t tiles) {
    const uint32_t tile = tiles + uint32_t((step - w.first) % kBuffers * kStageBytes);
    if (step < w.last && step < w.head) {
      left.copy(tile, step * kDepth, w.k[0]);
      right.copy(tile + Codes::kBytes, step * kDepth, w.k[0]);
    } else if (step < w.last) {
      const int at = (step - w.head) * kDepth;
      Codes(w.a[1], p.lda[1], w.place.row, w.place.rows).copy(tile, at, w.k[1]);
      SecondRight<is_gradient>(w.b[1], p.ldb[1], w.place.column, p.n).copy(tile + Codes::kBytes, at, w.k[1]);
    }
    step++;
    group_copies();
  }
};

// Sums of one step.
struct Part {
  float sums[16][4];
  float scale;
};

__device__ inline void add_part(Part& part, float (&sums)[16][4]) {
  hold_sums(part.sums);
#pragma unroll
  for (int i = 0; i < 16; i++)
#pragma unroll
    for (int c = 0; c < 4; c++) sums[i][c] = fmaf(part.sums[i][c], part.scale, sums[i][c]);
}

template <bool is_gradient>
__device__ inline void multiply_fp8(const MatmulFp8& p) {
  extern __shared__ __align__(1024) uint4 shared[];
  Work<true> w;
  if (!w.find(p.of, kTile, kTile, kDepth)) return;
  Copies<is_gradient> copies(p.of, w);
  const uint32_t tiles = shared_address(shared);
#pragma unroll
  for (int i = 0; i < kPrefetched; i++) copies.start(p.of, w, tiles);
  const int group = int(threadIdx.x) / 128, warp = int(threadIdx.x) / kWarp % 4;
  const auto await_step = [&](int step) {
    await_copies<kPrefetched - 1>();
    fence_tensor_reads();
    __syncthreads();
    return tiles + uint32_t((step - w.first) % kBuffers * kStageBytes);
  };
  const float* const scales = p.scales ? p.scales + w.place.column / kTile * p.of_columns : nullptr;
  // Starts the products of a step. The copies that follow overwrite the buffer of two steps ago, whose
  // products all warps have awaited.
  const auto begin_step = [&](Part& part, int step) {
    part.scale = scales ? scales[step * p.of_step] : 1.0f;
    const uint32_t tile = await_step(step), a = tile + group * 64 * 128, b = tile + Codes::kBytes;
    begin_products();
    multiply_codes<is_gradient>(
        part.sums, matrix_of(a, kRowsBytes, 16), matrix_of(b, kRowsBytes, 16));
#pragma unroll
    for (int k = 16; k < kDepth; k += 16)
      multiply_add_codes<is_gradient>(
          part.sums, matrix_of(a + k * 2, kRowsBytes, 16), matrix_of(b + k * 2, kRowsBytes, 16));
    group_products();
    copies.start(p.of, w, tiles);
  };

  float sums[16][4] = {};
  const int end = w.head < w.last ? w.head : w.last;
  if (w.first < end) {
    Part even, odd;
    begin_step(even, w.first);
    int step = w.first;
    for (; step + 2 < end; step += 2) {
      begin_step(odd, step + 1);
      await_products<1>();
      add_part(even, sums);
      begin_step(even, step + 2);
      await_products<1>();
      add_part(odd, sums);
    }
    if (step + 1 < end) {
      begin_step(odd, step + 1);
      await_products<1>();
      add_part(even, sums);
      await_products<0>();
      add_part(odd, sums);
    } else {
      await_products<0>();
      add_part(even, sums);
    }
    const float scale = scale_of(p.of, w.place.matrix);
#pragma unroll
    for (int i = 0; i < 16; i++)
#pragma unroll
      for (int c = 0; c < 4; c++) sums[i][c] *= scale;
  }
  for (int step = w.first < w.head ? w.head : w.first; step < w.last; step++) {
    Part part;
    part.scale = 1;
    const uint32_t tile = await_step(step), a = tile + group * 64 * 128, b = tile + Codes::kBytes;
    begin_products();
    multiply_group<false, is_gradient>(part.sums, matrix_of(a, kRowsBytes, 16),
        matrix_of(b, kRowsBytes, is_gradient ? kDepth * 128 : 16));
#pragma unroll
    for (int k = 16; k < kDepth; k += 16)
      multiply_add_group<false, is_gradient>(part.sums, matrix_of(a + k * 2, kRowsBytes, 16),
          is_gradient ? matrix_of(b + k * 128, kRowsBytes, kDepth * 128)
                      : matrix_of(b + k * 2, kRowsBytes, 16));
    group_products();
    copies.start(p.of, w, tiles);
    await_products<0>();
    add_part(part, sums);
  }
  write_sums(p.of, w, group * 64 + warp * 16, 0, sums);
}

#else

// Never launched on other architectures.
template <bool is_gradient>
__device__ inline void multiply_fp8(const MatmulFp8&) {
  __trap();
}

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1) fp8_nt_128(const __grid_constant__ MatmulFp8 p) {
  multiply_fp8<false>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) fp8_nn_128(const __grid_constant__ MatmulFp8 p) {
  multiply_fp8<true>(p);
}
