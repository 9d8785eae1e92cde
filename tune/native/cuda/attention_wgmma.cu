// Attention on sm_90's tensor cores, in the order of sums of attention.cu. A block has two warpgroups of 64
// queries each. In a step, a warpgroup starts the scores of 64 keys and the product of the previous step's
// weights with their values; while the latter runs, it computes its weights. Keys are copied one step ahead,
// values one step after their keys, so two buffers of each are enough.
#include "heads_groups.h"
#include "heads_softmax.h"

using namespace cairn::cuda;

namespace {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// A step of one warpgroup: addresses of its queries, of the keys and of the values of the step before, and
// the first rows of the warpgroup, this thread and the keys.
struct Step {
  uint32_t queries, keys, values;
  int group, own, own_row, key;
};

// Computes the weights of a step, and adds the values of the step before unless this is the first.
template <int width>
__device__ inline void add_step(const Attention& p, const Step& s, bool is_first, float scale,
    OnlineSoftmax& softmax, uint32_t (&weights)[4][4], float (&sums)[width / 8][4]) {
  float z[8][4];
  begin_products();
  start_scores<width>(s.queries, s.group * kGroupRows, s.keys, z);
  if (is_first) {
    await_sums<0>(z);
  } else {
    begin_products();
    start_weighted<width>(weights, s.values, sums);
    await_sums<1>(z);
  }
  if (!sees_all(s.own, s.key, p.window)) mask_scores(z, s.own_row, s.key, p.window);
  softmax.weigh(z, scale);
  await_sums<0>(sums);
#pragma unroll
  for (int j = 0; j < width / 8; j++)
#pragma unroll
    for (int c = 0; c < 4; c++) sums[j][c] *= softmax.shrink[c / 2];
  pack_weights(z, weights);
}

template <int width>
__device__ inline void attend(const Attention& p) {
  extern __shared__ __align__(1024) uint4 shared[];
  using Rows = HeadTile<width, kBlockRows>;
  using Keys = HeadTile<width, kStepRows>;
  const uint32_t queries = shared_address(shared), keys = queries + Rows::kBytes,
                 values = keys + 2 * Keys::kBytes;
  const int head = int(blockIdx.x), kv = head / (p.heads / p.kv_heads);
  RaggedTile tile;
  if (!find_queries(p, kBlockRows, int(blockIdx.y), tile)) return;
  const int lane = int(threadIdx.x) % kWarp, group = group_of_thread(), own = tile.row + group * kGroupRows,
            own_row = tile.row + int(threadIdx.x) / kWarp * 16 + lane / 4, first = first_key(tile, p.window),
            end = tile.row + kBlockRows < tile.end ? tile.row + kBlockRows : tile.end;
  const Keys of_k = tile_of_head<width, kStepRows>(p, p.k, p.k_stride, kv),
             of_v = tile_of_head<width, kStepRows>(p, p.v, p.k_stride, kv);
  tile_of_head<width, kBlockRows>(p, p.q, p.q_stride, head).copy(queries, tile.row, tile.end);
  of_k.copy(keys, first, tile.end);
  group_copies();

  const float scale = p.scale * kLog2E;
  OnlineSoftmax softmax(p, head);
  // Weights of the last step that this warpgroup sees, and the buffer of that step's values.
  uint32_t weights[4][4] = {}, last_values = values;
  float sums[width / 8][4] = {};
  bool is_first = true;
  int buffer = 0, key = first;
  // ptxas serializes the products if it sees a way around the loop.
  do {
    await_copies<0>();
    fence_tensor_reads();
    __syncthreads();
    // These overwrite the values of two steps ago and the keys of the step before, whose products all warps
    // have awaited.
    of_v.copy(values + buffer * Keys::kBytes, key, tile.end);
    if (key + kStepRows < end) of_k.copy(keys + (buffer ^ 1) * Keys::kBytes, key + kStepRows, tile.end);
    group_copies();
    // A warpgroup may see no key of the first and last steps.
    if (own < tile.end && sees_any(own, key, p.window)) {
      const Step step{queries, keys + buffer * Keys::kBytes, last_values, group, own, own_row, key};
      add_step<width>(p, step, is_first, scale, softmax, weights, sums);
      is_first = false;
      last_values = values + buffer * Keys::kBytes;
    }
    buffer ^= 1;
    key += kStepRows;
  } while (key < end);
  await_copies<0>();
  fence_tensor_reads();
  __syncthreads();
  begin_products();
  start_weighted<width>(weights, last_values, sums);
  softmax.finish(p, head, own_row, tile.end);
  await_sums<0>(sums);
  const float by[2] = {1.0f / softmax.total[0], 1.0f / softmax.total[1]};
#pragma unroll
  for (int j = 0; j < width / 8; j++)
#pragma unroll
    for (int c = 0; c < 4; c++) sums[j][c] *= by[c / 2];
  // All products that read the queries are done, so the sums may be written through their tile.
  write_sums<width>(
      reinterpret_cast<char*>(shared), p, p.y, p.q_stride, head, own_row - lane / 4, tile.end, sums);
}

#else

// Never launched on other architectures.
template <int width>
__device__ inline void attend(const Attention&) {
  __trap();
}

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(kGroupThreads, 2) attention_wgmma_64(
    const __grid_constant__ Attention p) {
  attend<64>(p);
}
extern "C" __global__ void __launch_bounds__(kGroupThreads, 1) attention_wgmma_128(
    const __grid_constant__ Attention p) {
  attend<128>(p);
}
