// Keys and values in a cache of blocks: writes of new rows, and attention of new rows over them.
//
// A block has one row and the query heads that read one key head. Its warps take chunks of 32 keys in turn: a
// lane computes the score of one key for each head, then all lanes add up the weighted values, each for its
// own columns.
#include "paged.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kParts = kMaxHeadWidth / kWarp, kThreads = kPagedWarps * kWarp,
              kElements = kPagedHeads * kMaxHeadWidth / kThreads;

// A row, the query heads of this block, and the keys that the row sees: those in [first, end).
struct PagedRow {
  const int32_t* table;
  int64_t row;
  int kv, head, heads, first, end;

  // False for a row outside every span.
  __device__ bool find(const PagedAttention& p) {
    const int group = p.heads / p.kv_heads, tiles = (group + kPagedHeads - 1) / kPagedHeads;
    row = blockIdx.x;
    kv = int(blockIdx.y) / tiles;
    const int tile = int(blockIdx.y) % tiles;
    head = kv * group + tile * kPagedHeads;
    heads = group - tile * kPagedHeads < kPagedHeads ? group - tile * kPagedHeads : kPagedHeads;
    const int span = p.span_of_row[row] - 1;
    if (span < 0) return false;
    table = p.tables + int64_t(span) * p.blocks;
    end = p.spans[span * 3 + 2] + int(row) - p.spans[span * 3] + 1;
    first = p.window && end > p.window ? end - p.window : 0;
    return true;
  }
};

// Largest score, sum of weights, and sums of weighted values of some keys.
struct State {
  float maximum, total, sum;
};

// Adds sums of later keys. Both are rescaled to the larger of their largest scores.
__device__ inline void merge(State& to, float maximum, float total, float sum) {
  const float largest = fmaxf(to.maximum, maximum),
              own = to.maximum == largest ? 1 : expf(to.maximum - largest),
              other = maximum == largest ? 1 : expf(maximum - largest);
  to = {largest, to.total * own + total * other, to.sum * own + sum * other};
}

// The state before the first key: that of a sink, a score without a value.
__device__ inline State start_of(const PagedAttention& p, int head) {
  return p.sinks ? State{load_float(p.sinks, p.sinks_dtype, head), 1, 0} : State{-INFINITY, 0, 0};
}

__device__ inline float low_of(uint32_t word) { return float_of(word << 16); }
__device__ inline float high_of(uint32_t word) { return float_of(word & 0xffff0000); }

// Products of the queries with key `key`, which exists.
template <bool is_bf16>
__device__ inline void score_key(
    const PagedAttention& p, const PagedRow& r, const float* queries, int key, float (&z)[kPagedHeads]) {
  const int words = is_bf16 ? p.width / 2 : p.width, columns = p.kv_heads * words;
  const uint32_t* from = static_cast<const uint32_t*>(p.k) +
                         (int64_t(r.table[key / p.block]) * columns + r.kv * words) * p.block + key % p.block;
  for (int i = 0; i < words; i++) {
    const uint32_t word = from[int64_t(i) * p.block];
#pragma unroll
    for (int h = 0; h < kPagedHeads; h++) {
      const float* query = queries + h * p.width;
      if (is_bf16) {
        z[h] = fmaf(query[2 * i], low_of(word), z[h]);
        z[h] = fmaf(query[2 * i + 1], high_of(word), z[h]);
      } else {
        z[h] = fmaf(query[i], float_of(word), z[h]);
      }
    }
  }
}

// sums += weights of the lanes · values of the keys from `key` on, those in [from, count).
template <bool is_bf16>
__device__ inline void add_values(const PagedAttention& p, const PagedRow& r, int key, int from, int count,
    const float (&weights)[kPagedHeads], float (&sums)[kPagedHeads][kParts]) {
  constexpr int kEach = is_bf16 ? 2 : 1;
  const int lane = int(threadIdx.x) % kWarp, columns = p.kv_heads * p.width;
  for (int j = from / kEach * kEach; j < count; j += kEach) {
    float one[kPagedHeads], two[kPagedHeads];
#pragma unroll
    for (int h = 0; h < kPagedHeads; h++) {
      one[h] = __shfl_sync(kAllLanes, weights[h], j);
      two[h] = __shfl_sync(kAllLanes, weights[h], (j + 1) % kWarp);
    }
    const int at = key + j;
    const uint32_t* row = static_cast<const uint32_t*>(p.v) +
                          (int64_t(r.table[at / p.block]) * p.block + at % p.block) / kEach * columns +
                          r.kv * p.width;
#pragma unroll
    for (int i = 0; i < kParts; i++) {
      const int column = lane + i * kWarp;
      if (column >= p.width) continue;
      const uint32_t word = row[column];
#pragma unroll
      for (int h = 0; h < kPagedHeads; h++) {
        if (!is_bf16) {
          sums[h][i] = fmaf(one[h], float_of(word), sums[h][i]);
          continue;
        }
        // A key that the row does not see may hold anything, even NaN.
        if (j >= from) sums[h][i] = fmaf(one[h], low_of(word), sums[h][i]);
        if (j + 1 < count) sums[h][i] = fmaf(two[h], high_of(word), sums[h][i]);
      }
    }
  }
}

// Shared memory: queries (heads, width), then maximum, total and sums of each warp and head.
__device__ inline float* shared_floats() {
  extern __shared__ uint4 shared[];
  return reinterpret_cast<float*>(shared);
}
__device__ inline float* warp_state(const PagedAttention& p, int warp, int head) {
  return shared_floats() + kPagedHeads * p.width + (warp * kPagedHeads + head) * (p.width + 2);
}

__device__ inline void read_queries(const PagedAttention& p, const PagedRow& r) {
  for (int i = int(threadIdx.x); i < kPagedHeads * p.width; i += kThreads)
    shared_floats()[i] =
        i < r.heads * p.width
            ? load_float(p.q, p.dtype, (r.row * p.heads + r.head) * p.width + i)
            : 0;
  __syncthreads();
}

// Writes the state of each warp over its chunks of a slice to shared memory.
template <bool is_bf16>
__device__ void sum_slice(const PagedAttention& p, const PagedRow& r, int slice) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  float maximum[kPagedHeads], total[kPagedHeads] = {}, sums[kPagedHeads][kParts] = {};
  for (int h = 0; h < kPagedHeads; h++) maximum[h] = -INFINITY;
  for (int chunk = warp; chunk < kSliceKeys / kWarp; chunk += kPagedWarps) {
    const int key = slice * kSliceKeys + chunk * kWarp, from = r.first > key ? r.first - key : 0,
              count = r.end - key < kWarp ? r.end - key : kWarp;
    if (from >= count) continue;
    float weights[kPagedHeads] = {};
    const bool is_seen = lane >= from && lane < count;
    if (is_seen) score_key<is_bf16>(p, r, shared_floats(), key + lane, weights);
#pragma unroll
    for (int h = 0; h < kPagedHeads; h++) {
      const float product = p.scale * weights[h],
                  z = !is_seen ? -INFINITY : p.cap == 0 ? product : p.cap * tanhf(product / p.cap),
                  largest = fmaxf(maximum[h], warp_max(z)), shrink = expf(maximum[h] - largest);
      weights[h] = expf(z - largest);
      total[h] = total[h] * shrink + warp_sum(weights[h]);
      maximum[h] = largest;
#pragma unroll
      for (int i = 0; i < kParts; i++) sums[h][i] *= shrink;
    }
    add_values<is_bf16>(p, r, key, from, count, weights, sums);
  }
#pragma unroll
  for (int h = 0; h < kPagedHeads; h++) {
    float* to = warp_state(p, warp, h);
    if (lane == 0) to[0] = maximum[h], to[1] = total[h];
#pragma unroll
    for (int i = 0; i < kParts; i++)
      if (lane + i * kWarp < p.width) to[2 + lane + i * kWarp] = sums[h][i];
  }
  __syncthreads();
}

// One column of a slice's state, from its warps in order.
__device__ inline State slice_state(const PagedAttention& p, int head, int column) {
  State state{-INFINITY, 0, 0};
  for (int warp = 0; warp < kPagedWarps; warp++) {
    const float* from = warp_state(p, warp, head);
    merge(state, from[0], from[1], from[2 + column]);
  }
  return state;
}

__device__ inline float* partial_of(const PagedAttention& p, int64_t row, int head, int slice) {
  return p.partial + ((row * p.heads + head) * p.slices + slice) * (p.width + 2);
}

template <bool is_bf16>
__device__ void attend_slice(const PagedAttention& p) {
  PagedRow r;
  const int slice = int(blockIdx.z);
  if (!r.find(p) || slice * kSliceKeys >= r.end || (slice + 1) * kSliceKeys <= r.first) return;
  read_queries(p, r);
  sum_slice<is_bf16>(p, r, slice);
  for (int i = int(threadIdx.x); i < r.heads * p.width; i += kThreads) {
    const State state = slice_state(p, i / p.width, i % p.width);
    float* to = partial_of(p, r.row, r.head + i / p.width, slice);
    if (i % p.width == 0) to[0] = state.maximum, to[1] = state.total;
    to[2 + i % p.width] = state.sum;
  }
}

template <bool is_bf16>
__device__ void attend_whole(const PagedAttention& p) {
  PagedRow r;
  const bool is_inside = r.find(p);
  State states[kElements];
#pragma unroll
  for (int e = 0; e < kElements; e++) {
    const int i = e * kThreads + int(threadIdx.x);
    states[e] = start_of(p, r.head + (i < r.heads * p.width ? i / p.width : 0));
  }
  if (is_inside) {
    read_queries(p, r);
    for (int slice = r.first / kSliceKeys; slice * kSliceKeys < r.end; slice++) {
      sum_slice<is_bf16>(p, r, slice);
#pragma unroll
      for (int e = 0; e < kElements; e++) {
        const int i = e * kThreads + int(threadIdx.x);
        if (i >= r.heads * p.width) continue;
        const State state = slice_state(p, i / p.width, i % p.width);
        merge(states[e], state.maximum, state.total, state.sum);
      }
      __syncthreads();
    }
  }
#pragma unroll
  for (int e = 0; e < kElements; e++) {
    const int i = e * kThreads + int(threadIdx.x);
    if (i < r.heads * p.width)
      store_float(p.y, p.dtype, (r.row * p.heads + r.head) * p.width + i,
          is_inside ? states[e].sum / states[e].total : 0);
  }
}

}  // namespace

// One block per row.
extern "C" __global__ void paged_write(const __grid_constant__ PagedWrite p) {
  const int64_t t = blockIdx.x;
  const int32_t slot = p.slots[t];
  if (slot < -1 || slot >= p.limit) {
    if (threadIdx.x == 0) report(p.fault, p.fault_code);
    return;
  }
  if (slot < 0) return;
  const int each = p.to == Dtype::bf16 ? 2 : 1, j = slot % p.block;
  const int64_t start = int64_t(slot / p.block) * p.block * p.width;
  for (int i = int(threadIdx.x); i < p.width; i += int(blockDim.x)) {
    const int64_t from = t * p.width + i;
    store_float(p.keys, p.to, start + (int64_t(i / each) * p.block + j) * each + i % each,
        load_float(p.k, p.from, from));
    store_float(p.values, p.to, start + (int64_t(j / each) * p.width + i) * each + j % each,
        load_float(p.v, p.from, from));
  }
}

// One block per span: checks it and its table, and marks its rows. Rows of a wrong span stay outside.
extern "C" __global__ void __launch_bounds__(kThreads) paged_spans(const __grid_constant__ PagedAttention p) {
  __shared__ float space[kPagedWarps];
  const int s = int(blockIdx.x), first = p.spans[s * 3], rows = p.spans[s * 3 + 1],
            before = p.spans[s * 3 + 2];
  if (rows <= 0) return;
  const int64_t used = (int64_t(before) + rows + p.block - 1) / p.block;
  int fault = first < 0 || before < 0 || int64_t(first) + rows > p.tokens ? p.outside_rows
              : used > p.blocks                                           ? p.outside_table
                                                                          : 0;
  float outside = 0;
  for (int64_t i = threadIdx.x; fault == 0 && i < used; i += kThreads) {
    const int32_t block = p.tables[int64_t(s) * p.blocks + i];
    if (block < 0 || (int64_t(block) + 1) * p.block > p.cache_rows) outside = 1;
  }
  if (block_max(outside, space) > 0) fault = p.outside_cache;
  if (fault != 0) {
    if (threadIdx.x == 0) report(p.fault, fault);
    return;
  }
  for (int i = int(threadIdx.x); i < rows; i += kThreads) p.span_of_row[first + i] = s + 1;
}

extern "C" __global__ void __launch_bounds__(kThreads) paged_slices(
    const __grid_constant__ PagedAttention p) {
  if (p.dtype == Dtype::bf16) attend_slice<true>(p);
  else attend_slice<false>(p);
}

extern "C" __global__ void __launch_bounds__(kThreads) paged_whole(const __grid_constant__ PagedAttention p) {
  if (p.dtype == Dtype::bf16) attend_whole<true>(p);
  else attend_whole<false>(p);
}

// Adds the slices of a row in order, as paged_whole does.
extern "C" __global__ void __launch_bounds__(kThreads) paged_merge(const __grid_constant__ PagedAttention p) {
  PagedRow r;
  const bool is_inside = r.find(p);
  for (int i = int(threadIdx.x); i < r.heads * p.width; i += kThreads) {
    const int head = r.head + i / p.width;
    State state = start_of(p, head);
    for (int slice = is_inside ? r.first / kSliceKeys : p.slices; slice < p.slices; slice++) {
      if (slice * kSliceKeys >= r.end) break;
      const float* from = partial_of(p, r.row, head, slice);
      merge(state, from[0], from[1], from[2 + i % p.width]);
    }
    store_float(p.y, p.dtype, (r.row * p.heads + r.head) * p.width + i,
        is_inside ? state.sum / state.total : 0);
  }
}
