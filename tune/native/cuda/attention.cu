// Causal attention inside documents, on tensor cores: a block takes 64 queries of one head and iterates over
// the keys with an online softmax. While the scores of one tile of keys are computed, its values are loaded;
// while those are weighted, the next keys.
#include "floats.h"
#include "heads_tiles.h"

using namespace cairn::cuda;

namespace {

// Turns scores into (unnormalised) weights and adds them to the total. `maximum` and `total` are of this
// thread's rows. The maximum is an exponent of 2, the total is this thread's share.
__device__ inline void weigh(
    float (&z)[kHeadRows / 8][4], float scale, float (&maximum)[2], float (&total)[2], float (&shrink)[2]) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float new_maximum = maximum[half];
#pragma unroll
    for (int j = 0; j < kHeadRows / 8; j++)
#pragma unroll
      for (int c = 0; c < 2; c++) new_maximum = fmaxf(new_maximum, z[j][half * 2 + c] * scale);
    new_maximum = fmaxf(new_maximum, __shfl_xor_sync(kAllLanes, new_maximum, 1));
    new_maximum = fmaxf(new_maximum, __shfl_xor_sync(kAllLanes, new_maximum, 2));
    // A row that has not seen a key yet has no largest score.
    const float base = new_maximum == -INFINITY ? 0.0f : new_maximum;
    shrink[half] = exp2_fast(maximum[half] - base);
    maximum[half] = new_maximum;
    total[half] *= shrink[half];
#pragma unroll
    for (int j = 0; j < kHeadRows / 8; j++)
#pragma unroll
      for (int c = 0; c < 2; c++) {
        const float p = exp2_fast(fmaf(z[j][half * 2 + c], scale, -base));
        z[j][half * 2 + c] = p;
        total[half] += p;
      }
  }
}

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
  // A sink is an initial score without a value.
  const float sink = p.sinks ? load_float(p.sinks, p.sinks_dtype, head) * kLog2E : -INFINITY;
  float maximum[2] = {sink, sink}, total[2] = {};
  if (p.sinks && lane % 4 == 0) total[0] = total[1] = 1;
  float sums[width / 8][4] = {};
  for (int key = first; key < last_row; key += kHeadRows) {
    await_copies<0>();
    __syncthreads();
    copy_rows<width, kHeadRows>(values, p.v, p.k_stride, kv * p.width, p.width, key, tile.end);
    group_copies();
    float z[kHeadRows / 8][4];
    multiply_rows<width, kHeadRows>(queries, row, keys, z);
    const bool is_whole = key + kHeadRows <= tile.row + 1 &&
                          (p.window == 0 || key > tile.row + kHeadRows - 1 - p.window);
    if (!is_whole) {
#pragma unroll
      for (int j = 0; j < kHeadRows / 8; j++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
          const int query = tile.row + row + lane / 4 + c / 2 * 8, at = key + j * 8 + lane % 4 * 2 + c % 2;
          if (!sees(query, at, p.window)) z[j][c] = -INFINITY;
        }
    }
    float shrink[2];
    weigh(z, scale, maximum, total, shrink);
#pragma unroll
    for (int j = 0; j < width / 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) sums[j][c] *= shrink[c / 2];
    await_copies<0>();
    __syncthreads();
    if (key + kHeadRows < last_row) {
      copy_rows<width, kHeadRows>(
          keys, p.k, p.k_stride, kv * p.width, p.width, key + kHeadRows, tile.end);
      group_copies();
    }
    multiply_weights<width, kHeadRows>(z, values, sums);
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    total[half] += __shfl_xor_sync(kAllLanes, total[half], 1);
    total[half] += __shfl_xor_sync(kAllLanes, total[half], 2);
    const int query = tile.row + row + half * 8 + lane / 4;
    if (lane % 4 == 0 && query < tile.end)
      p.lse[int64_t(head) * p.tokens + query] = maximum[half] * kLn2 + logf(total[half]);
  }
  write_rows<width>(p.y, p.q_stride, head * p.width, p.width, tile.row + row, tile.end, sums,
      1.0f / total[0], 1.0f / total[1]);
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
