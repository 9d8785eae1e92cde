// Products on sm_90's tensor cores, which read their operands directly from shared memory: tiles of 128×256,
// or 128×128 if there are too few of those. Otherwise as in matmul_tiles.h, in steps of 64. Copies run two
// steps ahead of the products, and the products of one step run while the next are prepared.
#include "sum_rows.h"

using namespace cairn::cuda;

namespace {

constexpr int kTileM = 128, kDepth = 64, kThreads = 256, kBuffers = 4, kPrefetched = 2;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <int columns, bool a_along_k, bool b_along_k, bool is_swiglu_grad = false>
__device__ inline void multiply_groups(const Matmul& p) {
  using TileA = OperandTile<a_along_k, kTileM, kThreads, kDepth>;
  using TileB = OperandTile<b_along_k, columns, kThreads, kDepth>;
  extern __shared__ __align__(1024) uint4 shared[];
  constexpr int kStageBytes = TileA::kBytes + TileB::kBytes, kBlocks = columns / 128,
                kPanelBytes = kDepth * 128, kRowsBytes = 8 * 128;

  Work<a_along_k> w;
  if (!w.find(p, kTileM, columns, kDepth)) return;
  Copier<TileA, TileB, kDepth> copier(p, w);
  const uint32_t tiles = shared_address(shared);
  const auto start_copy = [&] {
    if (copier.step < w.last)
      copier.copy(p, w, tiles + uint32_t((copier.step - w.first) % kBuffers * kStageBytes), false);
    copier.step++;
    group_copies();
  };
#pragma unroll
  for (int i = 0; i < kPrefetched; i++) start_copy();

  const int group = int(threadIdx.x) / 128, warp = int(threadIdx.x) / kWarp % 4;
  float sums[kBlocks][16][4] = {};
  for (int step = w.first; step < w.last; step++) {
    await_copies<kPrefetched - 1>();
    fence_tensor_reads();
    __syncthreads();
    const uint32_t a = tiles + uint32_t((step - w.first) % kBuffers * kStageBytes), b = a + TileA::kBytes;
    begin_products();
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      const uint64_t left = a_along_k ? matrix_of(a + group * 64 * 128 + k * 2, kRowsBytes, 16)
                                      : matrix_of(a + group * kPanelBytes + k * 128, kRowsBytes, kPanelBytes);
#pragma unroll
      for (int j = 0; j < kBlocks; j++) {
        const uint64_t right = b_along_k
                                   ? matrix_of(b + j * 128 * 128 + k * 2, kRowsBytes, 16)
                                   : matrix_of(b + j * 2 * kPanelBytes + k * 128, kRowsBytes, kPanelBytes);
        multiply_add_group<!a_along_k, !b_along_k>(sums[j], left, right);
      }
    }
    group_products();
    // This overwrites the buffer of two steps ago, whose products all warps have awaited.
    start_copy();
    await_products<1>();
    if (p.grid != Grid::none && w.ends_head(step)) {
      await_products<0>();
      const float scale = scale_of(p, w.place.matrix);
#pragma unroll
      for (int j = 0; j < kBlocks; j++)
#pragma unroll
        for (int i = 0; i < 16; i++)
#pragma unroll
          for (int c = 0; c < 4; c++) sums[j][i][c] *= scale;
    }
  }
  await_products<0>();
  if constexpr (is_swiglu_grad) {
    // The warps' rows pass through the buffers of operands, which other warps may be multiplying.
    __syncthreads();
    const int row = w.place.row + group * 64 + warp * 16;
    over_sum_rows(sums, w.place.rows - row, p.n - w.place.column,
        reinterpret_cast<float*>(shared) + (group * 4 + warp) * kRowSpace,
        [&](int r, int c, float one, float two) {
          finish_swiglu_grad(p, row + r, w.place.column + c, one, two);
        });
  } else {
#pragma unroll
    for (int j = 0; j < kBlocks; j++) write_sums(p, w, group * 64 + warp * 16, j * 128, sums[j]);
  }
}

#else

// Never launched on other architectures.
template <int columns, bool a_along_k, bool b_along_k, bool is_swiglu_grad = false>
__device__ inline void multiply_groups(const Matmul&) {
  __trap();
}

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_nt_256(const __grid_constant__ Matmul p) {
  multiply_groups<256, true, true>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_nn_256(const __grid_constant__ Matmul p) {
  multiply_groups<256, true, false>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_tn_256(const __grid_constant__ Matmul p) {
  multiply_groups<256, false, false>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_nt_128(const __grid_constant__ Matmul p) {
  multiply_groups<128, true, true>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_nn_128(const __grid_constant__ Matmul p) {
  multiply_groups<128, true, false>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_tn_128(const __grid_constant__ Matmul p) {
  multiply_groups<128, false, false>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_nn_swiglu_grad_256(
    const __grid_constant__ Matmul p) {
  multiply_groups<256, true, false, true>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_nn_swiglu_grad_128(
    const __grid_constant__ Matmul p) {
  multiply_groups<128, true, false, true>(p);
}
