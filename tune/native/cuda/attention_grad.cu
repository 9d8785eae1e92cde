// The gradient of attention on tensor cores, in two passes that compute the weights again. One takes 64
// queries and iterates over the keys for dq; the other takes 64 keys and iterates over the queries of all
// heads that read them for dk and dv. Each sum belongs to one warp, in a fixed order.
#include "floats.h"
#include "heads_tiles.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

template <int width>
__device__ inline void grad_queries(const Attention& p) {
  extern __shared__ uint4 shared[];
  constexpr int kTileBytes = kHeadRows * width * 2;
  const uint32_t queries = shared_address(shared), grads = queries + kTileBytes, stages = grads + kTileBytes;
  const int head = int(blockIdx.x), kv = head / (p.heads / p.kv_heads);
  RaggedTile tile;
  if (!find_tile(p.cu_seqlens + 1, p.documents, kHeadRows, int(gridDim.y - 1 - blockIdx.y), tile)) return;
  const int lane = int(threadIdx.x) % kWarp, row = int(threadIdx.x) / kWarp * 16,
            first = first_key(tile, p.window),
            last_row = tile.row + kHeadRows < tile.end ? tile.row + kHeadRows : tile.end;
  const auto start_copy = [&](int key, int stage) {
    const uint32_t keys = stages + stage * 2 * kTileBytes;
    copy_rows<width, kHeadRows>(keys, p.k, p.k_stride, kv * p.width, p.width, key, tile.end);
    copy_rows<width, kHeadRows>(keys + kTileBytes, p.v, p.k_stride, kv * p.width, p.width, key, tile.end);
  };
  copy_rows<width, kHeadRows>(queries, p.q, p.q_stride, head * p.width, p.width, tile.row, tile.end);
  copy_rows<width, kHeadRows>(grads, p.dy, p.q_stride, head * p.width, p.width, tile.row, tile.end);
  start_copy(first, 0);
  group_copies();

  const float scale = p.scale * kLog2E;
  float down[2] = {}, delta[2] = {};
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int query = tile.row + row + half * 8 + lane / 4;
    if (query < tile.end) {
      down[half] = p.lse[int64_t(head) * p.tokens + query] * -kLog2E;
      delta[half] = p.delta[int64_t(head) * p.tokens + query] * p.scale;
    }
  }
  float sums[width / 8][4] = {};
  int stage = 0;
  for (int key = first; key < last_row; key += kHeadRows) {
    await_copies<0>();
    __syncthreads();
    if (key + kHeadRows < last_row) start_copy(key + kHeadRows, 1 - stage);
    group_copies();
    const uint32_t keys = stages + stage * 2 * kTileBytes;
    float z[kHeadRows / 8][4], d[kHeadRows / 8][4];
    multiply_rows<width, kHeadRows>(queries, row, keys, z);
    multiply_rows<width, kHeadRows>(grads, row, keys + kTileBytes, d);
#pragma unroll
    for (int j = 0; j < kHeadRows / 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) {
        const int query = tile.row + row + lane / 4 + c / 2 * 8, at = key + j * 8 + lane % 4 * 2 + c % 2;
        const float weight =
            sees(query, at, p.window) ? exp2_fast(fmaf(z[j][c], scale, down[c / 2])) : 0.0f;
        z[j][c] = weight * (d[j][c] * p.scale - delta[c / 2]);
      }
    multiply_weights<width, kHeadRows>(z, keys, sums);
    stage = 1 - stage;
  }
  write_rows<width>(p.dq, p.q_stride, head * p.width, p.width, tile.row + row, tile.end, sums, 1, 1);
}

// Queries per step of the second pass.
constexpr int kQueries = 32;

template <int width>
__device__ inline void grad_keys(const Attention& p) {
  extern __shared__ uint4 shared[];
  constexpr int kTileBytes = kHeadRows * width * 2, kQueryBytes = kQueries * width * 2,
                kRowBytes = kQueries * 2 * 4, kStageBytes = 2 * kQueryBytes + kRowBytes;
  char* const space = reinterpret_cast<char*>(shared);
  const uint32_t keys = shared_address(space), values = keys + kTileBytes, stages = values + kTileBytes;
  const int kv = int(blockIdx.x), group = p.heads / p.kv_heads;
  // The first tiles are seen by the most queries.
  RaggedTile tile;
  if (!find_tile(p.cu_seqlens + 1, p.documents, kHeadRows, int(blockIdx.y), tile)) return;
  const int lane = int(threadIdx.x) % kWarp, row = int(threadIdx.x) / kWarp * 16;
  const int seen_to = p.window && tile.row + kHeadRows - 1 + p.window < tile.end
                          ? tile.row + kHeadRows - 1 + p.window
                          : tile.end,
            tiles = (seen_to - tile.row + kQueries - 1) / kQueries, steps = tiles * group;
  const auto start_copy = [&](int step, int stage) {
    const int head = kv * group + step / tiles, query = tile.row + step % tiles * kQueries;
    const uint32_t queries = stages + stage * kStageBytes;
    copy_rows<width, kQueries>(queries, p.q, p.q_stride, head * p.width, p.width, query, tile.end);
    copy_rows<width, kQueries>(
        queries + kQueryBytes, p.dy, p.q_stride, head * p.width, p.width, query, tile.end);
    if (threadIdx.x < 2 * kQueries) {
      const int i = int(threadIdx.x) % kQueries;
      const bool is_there = query + i < tile.end;
      const int64_t at = int64_t(head) * p.tokens + query + i;
      float* rows = reinterpret_cast<float*>(
          space + 2 * kTileBytes + stage * kStageBytes + 2 * kQueryBytes);
      rows[threadIdx.x] = !is_there                  ? 0.0f
                          : threadIdx.x < kQueries ? p.lse[at] * -kLog2E
                                                   : p.delta[at] * p.scale;
    }
  };
  copy_rows<width, kHeadRows>(keys, p.k, p.k_stride, kv * p.width, p.width, tile.row, tile.end);
  copy_rows<width, kHeadRows>(values, p.v, p.k_stride, kv * p.width, p.width, tile.row, tile.end);
  start_copy(0, 0);
  group_copies();

  const float scale = p.scale * kLog2E;
  float dk[width / 8][4] = {}, dv[width / 8][4] = {};
  int stage = 0;
  for (int step = 0; step < steps; step++) {
    await_copies<0>();
    __syncthreads();
    if (step + 1 < steps) start_copy(step + 1, 1 - stage);
    group_copies();
    const uint32_t queries = stages + stage * kStageBytes;
    const float* rows = reinterpret_cast<const float*>(
        space + 2 * kTileBytes + stage * kStageBytes + 2 * kQueryBytes);
    const int query0 = tile.row + step % tiles * kQueries;
    float z[kQueries / 8][4], d[kQueries / 8][4];
    multiply_rows<width, kQueries>(keys, row, queries, z);
    multiply_rows<width, kQueries>(values, row, queries + kQueryBytes, d);
#pragma unroll
    for (int j = 0; j < kQueries / 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) {
        const int i = j * 8 + lane % 4 * 2 + c % 2, query = query0 + i,
                  key = tile.row + row + lane / 4 + c / 2 * 8;
        const bool counts = query < tile.end && sees(query, key, p.window);
        z[j][c] = counts ? exp2_fast(fmaf(z[j][c], scale, rows[i])) : 0.0f;
        d[j][c] = z[j][c] * (d[j][c] * p.scale - rows[kQueries + i]);
      }
    multiply_weights<width, kQueries>(z, queries + kQueryBytes, dv);
    multiply_weights<width, kQueries>(d, queries, dk);
    stage = 1 - stage;
  }
  write_rows<width>(p.dk, p.k_stride, kv * p.width, p.width, tile.row + row, tile.end, dk, 1, 1);
  write_rows<width>(p.dv, p.k_stride, kv * p.width, p.width, tile.row + row, tile.end, dv, 1, 1);
}

}  // namespace

// Four lanes take a row of a head, each of them every fourth pack of its numbers. The order of sums is that
// of attention_delta_plain: lanes with every 32nd number, then warp_sum.
extern "C" __global__ void __launch_bounds__(kHeadThreads) attention_delta(
    const __grid_constant__ Attention p) {
  constexpr int kLanes = 4;
  const int row = int((blockIdx.x * kHeadThreads + threadIdx.x) / kLanes), head = int(blockIdx.y),
            first = int(threadIdx.x % kLanes) * kPack;
  float sums[kPack] = {};
  if (row < p.tokens) {
    const int64_t at = int64_t(row) * p.q_stride + head * p.width;
    for (int i = first; i < p.width; i += kLanes * kPack) {
      float dy[kPack], y[kPack];
      load_pack(p.dy, Dtype::bf16, at + i, dy);
      load_pack(p.y, Dtype::bf16, at + i, y);
#pragma unroll
      for (int c = 0; c < kPack; c++) sums[c] = fmaf(dy[c], y[c], sums[c]);
    }
  }
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2)
#pragma unroll
    for (int c = 0; c < kPack; c++) sums[c] += __shfl_xor_sync(kAllLanes, sums[c], step);
#pragma unroll
  for (int step = kPack / 2; step > 0; step /= 2)
#pragma unroll
    for (int c = 0; c < step; c++) sums[c] += sums[c + step];
  if (first == 0 && row < p.tokens) p.delta[int64_t(head) * p.tokens + row] = sums[0];
}

extern "C" __global__ void __launch_bounds__(kHeadThreads, 2) attention_dq_64(
    const __grid_constant__ Attention p) {
  grad_queries<64>(p);
}
extern "C" __global__ void __launch_bounds__(kHeadThreads, 2) attention_dq_128(
    const __grid_constant__ Attention p) {
  grad_queries<128>(p);
}
extern "C" __global__ void __launch_bounds__(kHeadThreads, 2) attention_dkv_64(
    const __grid_constant__ Attention p) {
  grad_keys<64>(p);
}
extern "C" __global__ void __launch_bounds__(kHeadThreads, 2) attention_dkv_128(
    const __grid_constant__ Attention p) {
  grad_keys<128>(p);
}
