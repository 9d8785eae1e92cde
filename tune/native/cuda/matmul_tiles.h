// Tiled matmul on tensor cores, shared by the kernels of matmul*.cu.
//
// A block computes a square tile of the result. It iterates over k in steps of 32: while it multiplies one
// step from shared memory, asynchronous copies load the next ones. Each of its warps keeps a part of the
// tile's sums in registers. The second pair's steps follow those of the first, into the same sums. A sum's
// order is that of k, for any tile. If blocks share k, which only those of 64×64 do, the division depends on
// the shape alone, and the last block of a tile adds the sums of all.
#pragma once
#include "work.h"

namespace cairn::cuda {

constexpr int kStages = 3;

// 128×128 with eight warps of 64×32, 64×64 with four of 32×32.
template <int size>
struct TileShape {
  static constexpr int kThreads = size == 128 ? 256 : 128, kWarpM = size == 128 ? 64 : 32, kWarpN = 32,
                       kWarpsN = size / kWarpN, kPartsM = kWarpM / 16, kPartsN = kWarpN / 8;
};

// A right operand that is copied unchanged. Others decode it: they fetch the codes of a step into registers,
// and store the decoded numbers in shared memory once the previous step is done.
struct PlainRight {
  static constexpr bool kDecodes = false;
  __device__ PlainRight(const Matmul&, const ResultTile&) {}
  __device__ void fetch(int) {}
  __device__ void put(char*) const {}
};

template <int size>
using WarpSums = float[TileShape<size>::kPartsM][TileShape<size>::kPartsN][4];

// Adds the products of one step to a warp's sums.
template <int size, bool a_along_k, bool b_along_k>
__device__ inline void multiply_step(uint32_t tile, int warp_m, int warp_n, WarpSums<size>& sums) {
  using Shape = TileShape<size>;
  constexpr int kBytes = OperandTile<a_along_k, size, Shape::kThreads>::kBytes;
#pragma unroll
  for (int at = 0; at < kStep; at += 16) {
    uint32_t of_a[Shape::kPartsM][4], of_b[Shape::kPartsN / 2][4];
#pragma unroll
    for (int i = 0; i < Shape::kPartsM; i++) load_left<a_along_k>(tile, warp_m + i * 16, at, of_a[i]);
#pragma unroll
    for (int j = 0; j < Shape::kPartsN / 2; j++)
      load_right<b_along_k>(tile + kBytes, warp_n + j * 16, at, of_b[j]);
#pragma unroll
    for (int i = 0; i < Shape::kPartsM; i++)
#pragma unroll
      for (int j = 0; j < Shape::kPartsN; j++)
        multiply_add(sums[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
  }
}

template <int parts_m, int parts_n>
__device__ inline void scale_sums(float (&sums)[parts_m][parts_n][4], float scale) {
#pragma unroll
  for (int i = 0; i < parts_m; i++)
#pragma unroll
    for (int j = 0; j < parts_n; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) sums[i][j][c] *= scale;
}

// One block of a product. `a_along_k` and `b_along_k` say whether the rows of an operand run along k.
template <int size, bool a_along_k, bool b_along_k, class Right>
__device__ inline void multiply(const Matmul& p) {
  using Shape = TileShape<size>;
  using TileA = OperandTile<a_along_k, size, Shape::kThreads>;
  using TileB = OperandTile<b_along_k, size, Shape::kThreads>;
  extern __shared__ uint4 shared[];
  char* const tiles = reinterpret_cast<char*>(shared);
  constexpr int kStageBytes = TileA::kBytes + TileB::kBytes;

  Work<a_along_k> w;
  if (!w.find(p, size, size, kStep)) return;
  Copier<TileA, TileB, kStep> copier(p, w);
  Right stored(p, w.place);
  const auto start_copy = [&](int stage) {
    if (copier.step < w.last) {
      const int at = copier.copy(p, w, shared_address(tiles + stage * kStageBytes), Right::kDecodes);
      if (Right::kDecodes && at >= 0) stored.fetch(at);
    }
    group_copies();
  };
  const auto put = [&](int stage) {
    if (Right::kDecodes && copier.step < w.last && copier.step < w.head)
      stored.put(tiles + stage * kStageBytes + TileA::kBytes);
    copier.step++;
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; stage++) {
    start_copy(stage);
    put(stage);
  }

  const int warp = int(threadIdx.x) / kWarp, warp_m = warp / Shape::kWarpsN * Shape::kWarpM,
            warp_n = warp % Shape::kWarpsN * Shape::kWarpN;
  WarpSums<size> sums = {};
  int stage = 0;
  for (int step = w.first; step < w.last; step++) {
    await_copies<kStages - 2>();
    __syncthreads();
    const int next = stage == 0 ? kStages - 1 : stage - 1;
    start_copy(next);
    const uint32_t tile = shared_address(tiles + stage * kStageBytes);
    multiply_step<size, a_along_k, b_along_k>(tile, warp_m, warp_n, sums);
    put(next);
    stage = stage + 1 < kStages ? stage + 1 : 0;
    if (p.grid != Grid::none && w.ends_head(step)) scale_sums(sums, scale_of(p, w.place.matrix));
  }
  if (size == 64 && p.splits > 1) {
#pragma unroll
    for (int i = 0; i < Shape::kPartsM; i++) write_partial(p, w, warp_m + i * 16, warp_n, sums[i]);
    // The last block of the tile adds in order of the blocks, so the order does not depend on which is last.
    if (!arrives_last(p.arrived + blockIdx.x, p.splits)) return;
#pragma unroll
    for (int i = 0; i < Shape::kPartsM; i++) add_partial(p, w, warp_m + i * 16, warp_n, sums[i]);
  }
#pragma unroll
  for (int i = 0; i < Shape::kPartsM; i++) write_sums(p, w, warp_m + i * 16, warp_n, sums[i]);
}

}  // namespace cairn::cuda
