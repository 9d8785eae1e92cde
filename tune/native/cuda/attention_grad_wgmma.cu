// The gradient of attention on sm_90's tensor cores, in the two passes of attention_grad.cu and in the same
// order of sums. A block has two warpgroups of 64 rows each: queries in the first pass, keys in the second.
// Each step's tile is copied one step ahead, and products of the last step run until the next weights are
// computed, so there are three buffers.
#include "floats.h"
#include "heads_groups.h"

using namespace cairn::cuda;

namespace {

constexpr int kBuffers = 3;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// A step of the first pass for one warpgroup: addresses of its tiles, lse and delta of this thread's queries
// as factors, and the first rows of the warpgroup, this thread and the keys.
struct QueryStep {
  uint32_t queries, grads, keys;
  const float (&down)[2], (&delta)[2];
  int group, own, own_row, key;
};

// Adds the keys of a step to the sums. Their products are in flight on return.
template <int width>
__device__ inline void add_keys(const Attention& p, const QueryStep& s, float (&dq)[width / 8][4]) {
  const float scale = p.scale * kLog2E;
  const int column = int(threadIdx.x) % 4 * 2;
  float z[8][4], d[8][4];
  begin_products();
  start_scores<width>(s.queries, s.group * kGroupRows, s.keys, z);
  start_scores<width>(s.grads, s.group * kGroupRows, s.keys + HeadTile<width, kStepRows>::kBytes, d);
  await_sums<1>(z);
#pragma unroll
  for (int j = 0; j < 8; j++)
#pragma unroll
    for (int c = 0; c < 4; c++) z[j][c] = exp2_fast(fmaf(z[j][c], scale, s.down[c / 2]));
  if (!sees_all(s.own, s.key, p.window)) {
    const unsigned span = span_of(p.window);
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        if (!is_in_span(s.own_row + c / 2 * 8, s.key + j * 8 + column + c % 2, span)) z[j][c] = 0;
  }
  await_sums<0>(d);
#pragma unroll
  for (int j = 0; j < 8; j++)
#pragma unroll
    for (int c = 0; c < 4; c++) d[j][c] = z[j][c] * fmaf(d[j][c], p.scale, s.delta[c / 2]);
  uint32_t weights[4][4];
  pack_weights(d, weights);
  begin_products();
  start_weighted<width>(weights, s.keys, dq);
}

template <int width>
__device__ inline void grad_queries(const Attention& p) {
  extern __shared__ __align__(1024) uint4 shared[];
  using Rows = HeadTile<width, kBlockRows>;
  using Step = HeadTile<width, kStepRows>;
  const uint32_t queries = shared_address(shared), grads = queries + Rows::kBytes,
                 steps = grads + Rows::kBytes;
  const int head = int(blockIdx.x), kv = head / (p.heads / p.kv_heads);
  RaggedTile tile;
  if (!find_queries(p, kBlockRows, int(blockIdx.y), tile)) return;
  const int lane = int(threadIdx.x) % kWarp, group = group_of_thread(), own = tile.row + group * kGroupRows,
            own_row = tile.row + int(threadIdx.x) / kWarp * 16 + lane / 4, first = first_key(tile, p.window),
            end = tile.row + kBlockRows < tile.end ? tile.row + kBlockRows : tile.end;
  const Step of_k = tile_of_head<width, kStepRows>(p, p.k, p.k_stride, kv),
             of_v = tile_of_head<width, kStepRows>(p, p.v, p.k_stride, kv);
  const auto start_copy = [&](int key, int buffer) {
    const uint32_t keys = steps + buffer * 2 * Step::kBytes;
    of_k.copy(keys, key, tile.end);
    of_v.copy(keys + Step::kBytes, key, tile.end);
  };
  tile_of_head<width, kBlockRows>(p, p.q, p.q_stride, head).copy(queries, tile.row, tile.end);
  tile_of_head<width, kBlockRows>(p, p.dy, p.q_stride, head).copy(grads, tile.row, tile.end);
  start_copy(first, 0);
  group_copies();

  float down[2] = {}, delta[2] = {}, dq[width / 8][4] = {};
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int query = own_row + half * 8;
    if (query < tile.end) {
      down[half] = p.lse[int64_t(head) * p.tokens + query] * -kLog2E;
      delta[half] = p.delta[int64_t(head) * p.tokens + query] * -p.scale;
    }
  }
  int buffer = 0, key = first;
  // ptxas serializes the products if it sees a way around the loop.
  do {
    await_copies<0>();
    fence_tensor_reads();
    __syncthreads();
    const uint32_t keys = steps + buffer * 2 * Step::kBytes;
    buffer = buffer + 1 < kBuffers ? buffer + 1 : 0;
    // This overwrites the buffer of two steps ago, whose products all warps have awaited.
    if (key + kStepRows < end) start_copy(key + kStepRows, buffer);
    group_copies();
    // A warpgroup may see no key of the first and last steps.
    if (own < tile.end && sees_any(own, key, p.window))
      add_keys<width>(p, {queries, grads, keys, down, delta, group, own, own_row, key}, dq);
    else await_sums<0>(dq);
    key += kStepRows;
  } while (key < end);
  await_sums<0>(dq);
  // Products of the other warps of a group may still read the tile that sums are written through.
  __syncthreads();
  write_sums<width>(
      reinterpret_cast<char*>(shared), p, p.dq, p.q_stride, head, own_row - lane / 4, tile.end, dq);
}

// The next step of the second pass to copy: queries of each head of a group in turn.
template <int width>
struct QuerySteps {
  HeadTile<width, kStepRows> of_q, of_dy;
  int head, query, first, seen_to, end;

  __device__ QuerySteps(const Attention& p, int head, const RaggedTile& tile, int seen_to)
      : of_q(tile_of_head<width, kStepRows>(p, p.q, p.q_stride, head)),
        of_dy(tile_of_head<width, kStepRows>(p, p.dy, p.q_stride, head)),
        head(head),
        query(tile.row),
        first(tile.row),
        seen_to(seen_to),
        end(tile.end) {}

  __device__ void copy(uint32_t to) const {
    of_q.copy(to, query, end);
    of_dy.copy(to + HeadTile<width, kStepRows>::kBytes, query, end);
  }
  // The first 64 threads read lse, the next 64 delta. Weights of absent queries become 0.
  __device__ float read_row(const Attention& p) const {
    const int i = int(threadIdx.x) % kStepRows;
    const bool is_lse = threadIdx.x < kStepRows;
    if (threadIdx.x >= 2 * kStepRows || query + i >= end) return is_lse ? INFINITY : 0.0f;
    return (is_lse ? p.lse : p.delta)[int64_t(head) * p.tokens + query + i];
  }
  __device__ void advance(const Attention& p) {
    query += kStepRows;
    if (query < seen_to) return;
    query = first;
    head++;
    of_q.from += p.width;
    of_dy.from += p.width;
  }
};

// A step of the second pass for one warpgroup: addresses of its tiles, `down` with lse and delta of its
// queries as factors, and the first rows of the warpgroup, this thread and the queries.
struct KeyStep {
  uint32_t keys, values, queries;
  const float* down;
  int group, own, own_row, query;
};

// Adds the queries of a step to both sums. Their products are in flight on return.
template <int width>
__device__ inline void add_queries(const Attention& p, const KeyStep& s, float scale,
    float (&dk)[width / 8][4], float (&dv)[width / 8][4]) {
  const uint32_t grads = s.queries + HeadTile<width, kStepRows>::kBytes;
  const int column = int(threadIdx.x) % 4 * 2;
  float z[8][4], d[8][4];
  begin_products();
  start_scores<width>(s.keys, s.group * kGroupRows, s.queries, z);
  start_scores<width>(s.values, s.group * kGroupRows, grads, d);
  await_sums<1>(z);
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const float2 down = *reinterpret_cast<const float2*>(s.down + j * 8 + column);
#pragma unroll
    for (int c = 0; c < 4; c++) z[j][c] = exp2_fast(fmaf(z[j][c], scale, c % 2 ? down.y : down.x));
  }
  if (!sees_all(s.query, s.own, p.window)) {
    const unsigned span = span_of(p.window);
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        if (!is_in_span(s.query + j * 8 + column + c % 2, s.own_row + c / 2 * 8, span)) z[j][c] = 0;
  }
  uint32_t weights[4][4], grad_weights[4][4];
  pack_weights(z, weights);
  begin_products();
  start_weighted<width>(weights, grads, dv);
  await_sums<1>(d);
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const float2 delta = *reinterpret_cast<const float2*>(s.down + kStepRows + j * 8 + column);
#pragma unroll
    for (int c = 0; c < 4; c++) d[j][c] = z[j][c] * fmaf(d[j][c], p.scale, c % 2 ? delta.y : delta.x);
  }
  pack_weights(d, grad_weights);
  begin_products();
  start_weighted<width>(grad_weights, s.queries, dk);
}

template <int width>
__device__ inline void grad_keys(const Attention& p) {
  extern __shared__ __align__(1024) uint4 shared[];
  using Rows = HeadTile<width, kBlockRows>;
  constexpr int kBytes = HeadTile<width, kStepRows>::kBytes, kFactors = 2 * kStepRows;
  char* const space = reinterpret_cast<char*>(shared);
  const uint32_t keys = shared_address(space), values = keys + Rows::kBytes, steps = values + Rows::kBytes;
  float* const factors = reinterpret_cast<float*>(space + 2 * Rows::kBytes + kBuffers * 2 * kBytes);
  const int kv = int(blockIdx.x), heads = p.heads / p.kv_heads;
  // The first tiles are seen by the most queries.
  RaggedTile tile;
  if (!find_tile(p.cu_seqlens + 1, p.documents, kBlockRows, int(blockIdx.y), tile)) return;
  const int lane = int(threadIdx.x) % kWarp, group = group_of_thread(), own = tile.row + group * kGroupRows,
            own_row = tile.row + int(threadIdx.x) / kWarp * 16 + lane / 4,
            seen_to = p.window && tile.row + kBlockRows - 1 + p.window < tile.end
                          ? tile.row + kBlockRows - 1 + p.window
                          : tile.end;
  QuerySteps<width> next(p, kv * heads, tile, seen_to);
  const float factor = threadIdx.x < kStepRows ? -kLog2E : -p.scale, scale = p.scale * kLog2E;
  tile_of_head<width, kBlockRows>(p, p.k, p.k_stride, kv).copy(keys, tile.row, tile.end);
  tile_of_head<width, kBlockRows>(p, p.v, p.k_stride, kv).copy(values, tile.row, tile.end);
  next.copy(steps);
  group_copies();
  if (threadIdx.x < kFactors) factors[threadIdx.x] = next.read_row(p) * factor;

  float dk[width / 8][4] = {}, dv[width / 8][4] = {};
  int buffer = 0, query = tile.row;
  for (int left = (seen_to - tile.row + kStepRows - 1) / kStepRows * heads; left > 0; left--) {
    await_copies<0>();
    fence_tensor_reads();
    __syncthreads();
    const uint32_t queries = steps + buffer * 2 * kBytes;
    const float* const down = factors + buffer * kFactors;
    buffer = buffer + 1 < kBuffers ? buffer + 1 : 0;
    // This overwrites the buffer of two steps ago, whose products all warps have awaited.
    float next_row = 0;
    if (left > 1) {
      next.advance(p);
      next.copy(steps + buffer * 2 * kBytes);
      next_row = next.read_row(p);
    }
    group_copies();
    if (own < tile.end && sees_any(query, own, p.window)) {
      add_queries<width>(p, {keys, values, queries, down, group, own, own_row, query}, scale, dk, dv);
    } else {
      await_sums<0>(dk);
      await_sums<0>(dv);
    }
    if (left > 1 && threadIdx.x < kFactors) factors[buffer * kFactors + threadIdx.x] = next_row * factor;
    query = query + kStepRows < seen_to ? query + kStepRows : tile.row;
  }
  await_sums<0>(dk);
  await_sums<0>(dv);
  // Products of the other warps may still read the tiles, as in the first pass.
  __syncthreads();
  const int row = own_row - lane / 4;
  write_sums<width>(space, p, p.dk, p.k_stride, kv, row, tile.end, dk);
  write_sums<width>(space + Rows::kBytes, p, p.dv, p.k_stride, kv, row, tile.end, dv);
}

#else

// Never launched on other architectures.
template <int width>
__device__ inline void grad_queries(const Attention&) {
  __trap();
}
template <int width>
__device__ inline void grad_keys(const Attention&) {
  __trap();
}

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(kGroupThreads, 1) attention_dq_wgmma_64(
    const __grid_constant__ Attention p) {
  grad_queries<64>(p);
}
extern "C" __global__ void __launch_bounds__(kGroupThreads, 1) attention_dq_wgmma_128(
    const __grid_constant__ Attention p) {
  grad_queries<128>(p);
}
extern "C" __global__ void __launch_bounds__(kGroupThreads, 1) attention_dkv_wgmma_64(
    const __grid_constant__ Attention p) {
  grad_keys<64>(p);
}
extern "C" __global__ void __launch_bounds__(kGroupThreads, 1) attention_dkv_wgmma_128(
    const __grid_constant__ Attention p) {
  grad_keys<128>(p);
}
