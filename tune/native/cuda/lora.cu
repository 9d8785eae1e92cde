// The contribution of adapters to a linear, for rows with different adapters. Both products add in an order
// that depends on the sizes of the matrices alone, so a row's bits do not depend on the other rows.
#include "lora.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

// The rank of an adapter; 0 for none, and for an invalid one.
__device__ inline int rank_of(const LoraDelta& p, int32_t adapter) {
  if (adapter < 0 || adapter >= p.count) return 0;
  const float rank = p.ranks[adapter * 2];
  return rank >= 0 && rank <= float(p.max_rank) ? int(rank) : 0;
}

}  // namespace

// z of one row: a warp takes one row of a at a time.
extern "C" __global__ void lora_shrink(const __grid_constant__ LoraDelta p) {
  const int64_t t = blockIdx.x;
  const int32_t adapter = p.adapters[t];
  const int lane = int(threadIdx.x) % kWarp, rank = rank_of(p, adapter);
  if (threadIdx.x == 0) {
    if (adapter < -1 || adapter >= p.count) report(p.fault, p.wrong_adapter);
    else if (adapter >= 0 && float(rank) != truncf(p.ranks[adapter * 2])) report(p.fault, p.wrong_rank);
  }
  for (int r = int(threadIdx.x) / kWarp; r < rank; r += int(blockDim.x) / kWarp) {
    const int64_t row = (adapter * p.max_rank + r) * p.k;
    float sum = 0;
    for (int64_t i = lane; i < p.k; i += kWarp)
      sum = fmaf(load_float(p.x, p.x_dtype, t * p.k + i), load_float(p.a, p.dtype, row + i), sum);
    sum = p.ranks[adapter * 2 + 1] * warp_sum(sum);
    if (lane == 0) p.z[t * p.max_rank + r] = p.rounds ? decode_bf16(encode_bf16(sum)) : sum;
  }
}

// One thread per column of a row, in order of ranks.
extern "C" __global__ void lora_expand(const __grid_constant__ LoraDelta p) {
  const int64_t t = blockIdx.x, column = int64_t(blockIdx.y) * blockDim.x + threadIdx.x;
  if (column >= p.n) return;
  const int32_t adapter = p.adapters[t];
  const int rank = rank_of(p, adapter);
  float sum = 0;
  for (int r = 0; r < rank; r++)
    sum = fmaf(p.z[t * p.max_rank + r],
        load_float(p.b, p.dtype, (adapter * p.max_rank + r) * p.n + column), sum);
  const int64_t at = t * p.n + column;
  p.y[at] = p.addend ? sum + load_float(p.addend, p.addend_dtype, at) : sum;
}
