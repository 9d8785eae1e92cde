// Attention and its gradient in f32, for any dtype and heads of up to 256 numbers, and code that both
// variants share. A warp takes one row of one head: each lane computes one of 32 weights at a time, then all
// lanes sum the weighted rows, each for its own columns of the head.
#include "attention.h"
#include "floats.h"
#include "heads_tiles.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kWarps = 4, kParts = 8;

struct Row {
  int head, kv, row, start, end;
  // This warp's scratch: two rows of `width` floats.
  float *first, *second;
};

// The row of this warp, its document, and space shared by its lanes. `heads` is the number of heads of the
// rows.
__device__ inline bool row_of_warp(const Attention& p, int heads, Row& to) {
  extern __shared__ uint4 shared[];
  const int warp = int(threadIdx.x) / kWarp, group = p.heads / p.kv_heads;
  to.row = int(blockIdx.x) * kWarps + warp;
  to.head = int(blockIdx.y);
  to.kv = heads == p.heads ? to.head / group : to.head;
  to.first = reinterpret_cast<float*>(shared) + warp * 2 * p.width;
  to.second = to.first + p.width;
  if (to.row >= p.tokens) return false;
  int document = 0;
  while (document + 1 < p.documents && p.cu_seqlens[document + 1] <= to.row) document++;
  to.start = p.cu_seqlens[document];
  to.end = p.cu_seqlens[document + 1];
  return true;
}

__device__ inline void read_head(
    const Attention& p, const void* data, int stride, int row, int head, float* to) {
  for (int i = int(threadIdx.x) % kWarp; i < p.width; i += kWarp)
    to[i] = load_float(data, p.dtype, int64_t(row) * stride + head * p.width + i);
}

__device__ inline float dot_head(
    const Attention& p, const float* a, const void* data, int stride, int row, int head) {
  float sum = 0;
  const int64_t at = int64_t(row) * stride + head * p.width;
  for (int i = 0; i < p.width; i++) sum = fmaf(a[i], load_float(data, p.dtype, at + i), sum);
  return sum;
}

// This lane's share of the product of two rows that start at the same number of two tensors.
__device__ inline float dot_of_lane(const void* a, const void* b, Dtype dtype, int64_t at, int width) {
  float sum = 0;
  for (int i = int(threadIdx.x) % kWarp; i < width; i += kWarp)
    sum = fmaf(load_float(a, dtype, at + i), load_float(b, dtype, at + i), sum);
  return sum;
}

// sums += Σ weight of a lane · the row of a head at `row` + that lane.
__device__ inline void gather(const Attention& p, float weight, const void* data, int stride, int row,
    int count, int head, float (&sums)[kParts]) {
  const int lane = int(threadIdx.x) % kWarp;
  for (int j = 0; j < count; j++) {
    const float w = __shfl_sync(kAllLanes, weight, j);
    const int64_t at = int64_t(row + j) * stride + head * p.width;
#pragma unroll
    for (int i = 0; i < kParts; i++)
      if (lane + i * kWarp < p.width)
        sums[i] = fmaf(w, load_float(data, p.dtype, at + lane + i * kWarp), sums[i]);
  }
}

__device__ inline void write_head(
    const Attention& p, void* data, int stride, int row, int head, const float (&sums)[kParts], float by) {
  const int lane = int(threadIdx.x) % kWarp;
#pragma unroll
  for (int i = 0; i < kParts; i++)
    if (lane + i * kWarp < p.width)
      store_float(data, p.dtype, int64_t(row) * stride + head * p.width + lane + i * kWarp, sums[i] * by);
}

// The score of a product, capped if p.cap is not 0, and the derivative of the score by its scaled product.
__device__ inline float score_of(const Attention& p, float product) {
  return p.cap == 0 ? p.scale * product : p.cap * tanhf(p.scale * product / p.cap);
}
__device__ inline float slope_of(const Attention& p, float score) {
  return p.cap == 0 ? 1 : 1 - score * score / (p.cap * p.cap);
}

__device__ inline int first_seen(const Attention& p, const Row& r) {
  return p.window && r.row - p.window + 1 > r.start ? r.row - p.window + 1 : r.start;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kWarps* kWarp) attention_plain(
    const __grid_constant__ Attention p) {
  Row r;
  if (!row_of_warp(p, p.heads, r)) return;
  const int lane = int(threadIdx.x) % kWarp;
  read_head(p, p.q, p.q_stride, r.row, r.head, r.first);
  __syncwarp();
  float maximum = p.sinks ? load_float(p.sinks, p.sinks_dtype, r.head) : -INFINITY, total = p.sinks ? 1 : 0;
  float sums[kParts] = {};
  for (int key = first_seen(p, r); key <= r.row; key += kWarp) {
    const int count = r.row + 1 - key < kWarp ? r.row + 1 - key : kWarp;
    const float z = lane < count ? score_of(p, dot_head(p, r.first, p.k, p.k_stride, key + lane, r.kv))
                                 : -INFINITY,
                new_maximum = fmaxf(maximum, warp_max(z)), shrink = expf(maximum - new_maximum),
                weight = expf(z - new_maximum);
    total = total * shrink + warp_sum(weight);
    maximum = new_maximum;
#pragma unroll
    for (int i = 0; i < kParts; i++) sums[i] *= shrink;
    gather(p, weight, p.v, p.k_stride, key, count, r.kv, sums);
  }
  write_head(p, p.y, p.q_stride, r.row, r.head, sums, 1.0f / total);
  if (lane == 0) p.lse[int64_t(r.head) * p.tokens + r.row] = maximum + logf(total);
}

extern "C" __global__ void __launch_bounds__(kWarps* kWarp) attention_delta_plain(
    const __grid_constant__ Attention p) {
  const int row = int(blockIdx.x) * kWarps + int(threadIdx.x) / kWarp, head = int(blockIdx.y);
  if (row >= p.tokens) return;
  const int64_t at = int64_t(row) * p.q_stride + head * p.width;
  const float sum = warp_sum(dot_of_lane(p.dy, p.y, p.dtype, at, p.width));
  if (threadIdx.x % kWarp == 0) p.delta[int64_t(head) * p.tokens + row] = sum;
}

extern "C" __global__ void __launch_bounds__(kWarps* kWarp) attention_dq_plain(
    const __grid_constant__ Attention p) {
  Row r;
  if (!row_of_warp(p, p.heads, r)) return;
  const int lane = int(threadIdx.x) % kWarp;
  read_head(p, p.q, p.q_stride, r.row, r.head, r.first);
  read_head(p, p.dy, p.q_stride, r.row, r.head, r.second);
  __syncwarp();
  const float lse = p.lse[int64_t(r.head) * p.tokens + r.row],
              delta = p.delta[int64_t(r.head) * p.tokens + r.row];
  float sums[kParts] = {};
  for (int key = first_seen(p, r); key <= r.row; key += kWarp) {
    const int count = r.row + 1 - key < kWarp ? r.row + 1 - key : kWarp;
    float weight = 0;
    if (lane < count) {
      const float z = score_of(p, dot_head(p, r.first, p.k, p.k_stride, key + lane, r.kv));
      weight = expf(z - lse) * slope_of(p, z);
      weight *= p.scale * (dot_head(p, r.second, p.v, p.k_stride, key + lane, r.kv) - delta);
    }
    gather(p, weight, p.k, p.k_stride, key, count, r.kv, sums);
  }
  write_head(p, p.dq, p.q_stride, r.row, r.head, sums, 1);
}

extern "C" __global__ void __launch_bounds__(kWarps* kWarp) attention_dkv_plain(
    const __grid_constant__ Attention p) {
  Row r;
  if (!row_of_warp(p, p.kv_heads, r)) return;
  const int lane = int(threadIdx.x) % kWarp, group = p.heads / p.kv_heads;
  read_head(p, p.k, p.k_stride, r.row, r.kv, r.first);
  read_head(p, p.v, p.k_stride, r.row, r.kv, r.second);
  __syncwarp();
  const int end = p.window && r.row + p.window < r.end ? r.row + p.window : r.end;
  float dk[kParts] = {}, dv[kParts] = {};
  for (int head = r.kv * group; head < (r.kv + 1) * group; head++)
    for (int query = r.row; query < end; query += kWarp) {
      const int count = end - query < kWarp ? end - query : kWarp;
      float weight = 0, grad = 0;
      if (lane < count) {
        const int64_t at = int64_t(head) * p.tokens + query + lane;
        const float z = score_of(p, dot_head(p, r.first, p.q, p.q_stride, query + lane, head));
        weight = expf(z - p.lse[at]);
        grad = weight * slope_of(p, z) * p.scale *
               (dot_head(p, r.second, p.dy, p.q_stride, query + lane, head) - p.delta[at]);
      }
      gather(p, grad, p.q, p.q_stride, query, count, head, dk);
      gather(p, weight, p.dy, p.q_stride, query, count, head, dv);
    }
  write_head(p, p.dk, p.k_stride, r.row, r.kv, dk, 1);
  write_head(p, p.dv, p.k_stride, r.row, r.kv, dv, 1);
}

// The gradient of a sink sums the share of each query's weights that it takes from the output. A block has
// one head; its warps take rows in turn.
extern "C" __global__ void __launch_bounds__(256) sinks_grad(const __grid_constant__ SinksGrad p) {
  __shared__ float space[256 / kWarp + 1];
  const int warps = int(blockDim.x) / kWarp, head = int(blockIdx.x);
  const float sink = load_float(p.sinks, p.sinks_dtype, head);
  float sum = 0;
  for (int row = int(threadIdx.x) / kWarp; row < p.tokens; row += warps) {
    const int64_t at = (int64_t(row) * p.heads + head) * p.width;
    const float product = dot_of_lane(p.dy, p.y, p.dtype, at, p.width);
    sum -= expf(sink - p.lse[int64_t(head) * p.tokens + row]) * product;
  }
  sum = block_sum(sum, space);
  if (threadIdx.x == 0) p.dsinks[head] = sum;
}
