// Causal attention inside documents, on tensor cores: a block takes 64 queries of one head and iterates over
// the keys with an online softmax. While the scores of one tile of keys are computed, its values are loaded;
// while those are weighted, the next keys.
#include "heads_softmax.h"

using namespace cairn::cuda;

namespace {

template <int width>
__device__ inline void attend(const Attention& p) {
  extern __shared__ uint4 shared[];
  constexpr int kTileBytes = kHeadRows * width * 2;
  const uint32_t queries = shared_address(shared), keys = queries + kTileBytes, values = keys + kTileBytes;
  const int head = int(blockIdx.x), kv = head / (p.heads / p.kv_heads);
  // The last tiles see the most keys, so they go first.
  RaggedTile tile;
  if (!find_tile(p.cu_seqlens + 1, p.documents, kHeadRows, int(gridDim.y - 1 - blockIdx.y), tile)) return;
  const int lane = int(threadIdx.x) % kWarp, row = int(threadIdx.x) / kWarp * 16,
            last_row = tile.row + kHeadRows < tile.end ? tile.row + kHeadRows : tile.end;

  const int first = first_key(tile, p.window);
  copy_rows<width, kHeadRows>(queries, p.q, p.q_stride, head * p.width, p.width, tile.row, tile.end);
  copy_rows<width, kHeadRows>(keys, p.k, p.k_stride, kv * p.width, p.width, first, tile.end);
  group_copies();

  const float scale = p.scale * kLog2E;
  const int query = tile.row + row + lane / 4;
  OnlineSoftmax softmax(p, head);
  float sums[width / 8][4] = {};
  for (int key = first; key < last_row; key += kHeadRows) {
    await_copies<0>();
    __syncthreads();
    copy_rows<width, kHeadRows>(values, p.v, p.k_stride, kv * p.width, p.width, key, tile.end);
    group_copies();
    float z[kHeadRows / 8][4];
    multiply_rows<width, kHeadRows>(queries, row, keys, z);
    if (!sees_all(tile.row, key, p.window)) mask_scores(z, query, key, p.window);
    softmax.weigh(z, scale);
#pragma unroll
    for (int j = 0; j < width / 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) sums[j][c] *= softmax.shrink[c / 2];
    await_copies<0>();
    __syncthreads();
    if (key + kHeadRows < last_row) {
      copy_rows<width, kHeadRows>(
          keys, p.k, p.k_stride, kv * p.width, p.width, key + kHeadRows, tile.end);
      group_copies();
    }
    multiply_weights<width, kHeadRows>(z, values, sums);
  }
  softmax.finish(p, head, query, tile.end);
  write_rows<width>(p.y, p.q_stride, head * p.width, p.width, tile.row + row, tile.end, sums,
      1.0f / softmax.total[0], 1.0f / softmax.total[1]);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kHeadThreads, 2) attention_64(
    const __grid_constant__ Attention p) {
  attend<64>(p);
}
extern "C" __global__ void __launch_bounds__(kHeadThreads, 2) attention_128(
    const __grid_constant__ Attention p) {
  attend<128>(p);
}
