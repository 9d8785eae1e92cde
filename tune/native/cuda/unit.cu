// Two products with the same left operand and the gated unit of their results, on sm_90's tensor cores. A
// block computes 128 rows by 128 columns of both products, so that a thread has both sums of an element.
// Operands, steps and the order of sums are those of matmul_wgmma.cu.
#include "unit.h"

#include "sum_rows.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kTile = 128, kDepth = 64, kThreads = 256, kBuffers = 4, kPrefetched = 2;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

using Tile = OperandTile<true, kTile, kThreads, kDepth>;
constexpr int kStageBytes = 3 * Tile::kBytes, kRowsBytes = 8 * 128;
// Words of two bf16 numbers of a warp's 16 rows by 64 columns.
constexpr int kWords = 16 * 32;

// Copies the steps of the first products, then those of gate's second product, then of up's.
struct UnitCopier {
  const UnitProducts& p;
  int row, column, head, first_tail, step = 0;
  Tile left, gate, up;

  __device__ UnitCopier(const UnitProducts& p, int row, int column)
      : p(p), row(row), column(column), head((p.k + kDepth - 1) / kDepth),
        first_tail((p.k2[0] + kDepth - 1) / kDepth), left(p.a, p.k, row, p.m), gate(p.b[0], p.k, column, p.n),
        up(p.b[1], p.k, column, p.n) {}

  __device__ int steps() const { return head + first_tail + (p.k2[1] + kDepth - 1) / kDepth; }

  __device__ void copy(uint32_t stage) {
    if (step < head) {
      left.copy(stage, step * kDepth, p.k);
      gate.copy(stage + Tile::kBytes, step * kDepth, p.k);
      up.copy(stage + 2 * Tile::kBytes, step * kDepth, p.k);
    } else if (step < head + first_tail) {
      if (step == head) {
        left = Tile(p.a2[0], p.k2[0], row, p.m);
        gate = Tile(p.b2[0], p.k2[0], column, p.n);
      }
      left.copy(stage, (step - head) * kDepth, p.k2[0]);
      gate.copy(stage + Tile::kBytes, (step - head) * kDepth, p.k2[0]);
    } else {
      const int at = step - head - first_tail;
      if (at == 0) {
        left = Tile(p.a2[1], p.k2[1], row, p.m);
        up = Tile(p.b2[1], p.k2[1], column, p.n);
      }
      left.copy(stage, at * kDepth, p.k2[1]);
      up.copy(stage + 2 * Tile::kBytes, at * kDepth, p.k2[1]);
    }
  }
};

// Sums of 64 rows by 128 columns: of gate, of up.
using Sums = float[2][16][4];

// Adds the products of a step to the sums of gate, of up, or of both.
template <bool has_gate, bool has_up>
__device__ inline void multiply_step(Sums& sums, uint32_t a, int group) {
  const uint32_t gate = a + Tile::kBytes, up = gate + Tile::kBytes;
  begin_products();
#pragma unroll
  for (int k = 0; k < kDepth; k += 16) {
    const uint64_t left = matrix_of(a + group * 64 * 128 + k * 2, kRowsBytes, 16);
    if (has_gate)
      multiply_add_group<false, false>(sums[0], left, matrix_of(gate + k * 2, kRowsBytes, 16));
    if (has_up) multiply_add_group<false, false>(sums[1], left, matrix_of(up + k * 2, kRowsBytes, 16));
  }
  group_products();
}

// Writes a warp's 16 rows, from `row` on: gate and up, rounded, and their unit. `space` is the warp's.
__device__ inline void write_units(const UnitProducts& p, Sums& sums, int row, int column, uint32_t* space) {
  const int lane = int(threadIdx.x) % kWarp, own = lane / 4;
#pragma unroll
  for (int part = 0; part < 2; part++) {
    // The index of each group of four words is XORed with the row, so that rows are in different banks.
#pragma unroll
    for (int which = 0; which < 2; which++)
#pragma unroll
      for (int j = 0; j < 8; j++) {
        const float(&from)[4] = sums[which][part * 8 + j];
        uint32_t* const to = space + which * kWords + own * 32 + ((j ^ own) * 4 + lane % 4);
        to[0] = pack_bf16(from[0], from[1]);
        to[8 * 32] = pack_bf16(from[2], from[3]);
      }
    __syncwarp();
    const int c = column + part * 64 + lane * 2;
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
      if (row + i >= p.m || c >= p.n) break;
      const uint32_t* const from = space + i * 32 + (lane ^ i % 8 * 4);
      const uint32_t gate = from[0], up = from[kWords];
      uint32_t y = 0;
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const float g = decode_bf16(uint16_t(gate >> half * 16)), u = decode_bf16(uint16_t(up >> half * 16));
        y |= uint32_t(encode_bf16(Silu::value(g) * u)) << half * 16;
      }
      const int64_t at = (int64_t(row + i) * p.n + c) / 2;
      reinterpret_cast<uint32_t*>(p.gate)[at] = gate;
      reinterpret_cast<uint32_t*>(p.up)[at] = up;
      reinterpret_cast<uint32_t*>(p.y)[at] = y;
    }
    __syncwarp();
  }
}

__device__ inline void multiply_unit(const UnitProducts& p) {
  extern __shared__ __align__(1024) uint4 shared[];
  const int tiles_n = (p.n + kTile - 1) / kTile;
  int row, column;
  tile_of(int(blockIdx.x), int(gridDim.x) / tiles_n, tiles_n, row, column);
  row *= kTile;
  column *= kTile;
  UnitCopier copier(p, row, column);
  const int steps = copier.steps();
  const uint32_t tiles = shared_address(shared);
  const auto start_copy = [&] {
    if (copier.step < steps) copier.copy(tiles + uint32_t(copier.step % kBuffers * kStageBytes));
    copier.step++;
    group_copies();
  };
#pragma unroll
  for (int i = 0; i < kPrefetched; i++) start_copy();

  const int group = int(threadIdx.x) / 128, warp = int(threadIdx.x) / kWarp % 4;
  Sums sums = {};
  int step = 0;
  // Waits for the copies of a step. Returns its stage.
  const auto await_step = [&] {
    await_copies<kPrefetched - 1>();
    fence_tensor_reads();
    __syncthreads();
    return tiles + uint32_t(step % kBuffers * kStageBytes);
  };
  // This overwrites the buffer of two steps ago, whose products all warps have awaited.
  const auto end_step = [&] {
    start_copy();
    await_products<1>();
    step++;
  };
  while (step < copier.head) {
    multiply_step<true, true>(sums, await_step(), group);
    end_step();
  }
  await_products<0>();
  while (step < copier.head + copier.first_tail) {
    multiply_step<true, false>(sums, await_step(), group);
    end_step();
  }
  await_products<0>();
  while (step < steps) {
    multiply_step<false, true>(sums, await_step(), group);
    end_step();
  }
  await_products<0>();
  // The warps' rows pass through the buffers of operands, which other warps may be multiplying.
  __syncthreads();
  write_units(p, sums, row + group * 64 + warp * 16, column,
      reinterpret_cast<uint32_t*>(shared) + (group * 4 + warp) * 2 * kWords);
}

#else

// Never launched on other architectures.
__device__ inline void multiply_unit(const UnitProducts&) { __trap(); }

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1) wgmma_nt_swiglu_256(
    const __grid_constant__ UnitProducts p) {
  multiply_unit(p);
}
