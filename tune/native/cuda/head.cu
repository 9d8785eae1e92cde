// Processing of logits for head and loss and the log-probabilities of tokens, one block per row: logits are
// read once for their maximum and their sum, and once more to be replaced by their gradient.
#include "head.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kThreads = 256, kIgnored = -100;
constexpr float kLog2E = 1.44269504088896341f;

__device__ inline float logit(const float* z, int64_t i) { return z[i]; }
__device__ inline float logit(const uint16_t* z, int64_t i) { return decode_bf16(z[i]); }
__device__ inline void put_logit(float* z, int64_t i, float value) { z[i] = value; }
__device__ inline void put_logit(uint16_t* z, int64_t i, float value) { z[i] = encode_bf16(value); }

// Calls body(logit) for this thread's share of a row and stores its result. Uses 16-byte accesses if the row
// starts and ends at a multiple of 16 bytes.
template <bool stores, class T, class Body>
__device__ inline void over_row(T* z, int64_t n, Body body) {
  constexpr int kEach = 16 / sizeof(T);
  if (n % kEach == 0 && reinterpret_cast<uintptr_t>(z) % 16 == 0) {
    for (int64_t i = threadIdx.x; i < n / kEach; i += kThreads) {
      alignas(16) T some[kEach];
      *reinterpret_cast<uint4*>(some) = reinterpret_cast<const uint4*>(z)[i];
#pragma unroll
      for (int j = 0; j < kEach; j++) {
        const float value = body(logit(some, j));
        if (stores) put_logit(some, j, value);
      }
      if (stores) reinterpret_cast<uint4*>(z)[i] = *reinterpret_cast<const uint4*>(some);
    }
    return;
  }
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const float value = body(logit(z, i));
    if (stores) put_logit(z, i, value);
  }
}

// Caps a row of logits.
template <class T>
__device__ inline void cap_row(const LogitRows& p, T* z) {
  if (p.cap == 0) return;
  over_row<true>(z, p.vocab, [&](float v) { return p.cap * tanhf(v / p.cap); });
  __syncthreads();
}
// The derivative of a capped logit, 1 without a cap.
__device__ inline float slope_of(const LogitRows& p, float capped) {
  return p.cap == 0 ? 1 : 1 - capped * capped / (p.cap * p.cap);
}

struct Softmax {
  float maximum, sum;
};

// The largest logit of a row, and the sum of exp(z − maximum).
template <class T>
__device__ inline Softmax softmax_of(T* z, int64_t n) {
  __shared__ float space[kThreads / kWarp + 1];
  float maximum = -INFINITY, sum = 0;
  over_row<false>(z, n, [&](float v) {
    if (v > maximum) {
      sum *= exp2_fast((maximum - v) * kLog2E);
      maximum = v;
    }
    sum += exp2_fast((v - maximum) * kLog2E);
    return 0.0f;
  });
  const float block_maximum = block_max(maximum, space);
  return {block_maximum,
      block_sum(maximum == -INFINITY ? 0.0f : sum * exp2_fast((maximum - block_maximum) * kLog2E), space)};
}

template <class T>
__device__ inline void loss_row(const LogitRows& p, T* z, int64_t row) {
  const int target = p.targets[row];
  const bool is_outside = target < 0 || target >= p.vocab;
  if (is_outside) {
    if (target != kIgnored && threadIdx.x == 0) report(p.fault, p.fault_code);
    over_row<true>(z, p.vocab, [](float) { return 0.0f; });
    if (threadIdx.x == 0) p.losses[row] = 0;
    return;
  }
  cap_row(p, z);
  const float wanted = logit(z, target);
  const Softmax s = softmax_of(z, p.vocab);
  const float inverse = 1.0f / s.sum;
  over_row<true>(z, p.vocab,
      [&](float v) { return exp2_fast((v - s.maximum) * kLog2E) * inverse * slope_of(p, v); });
  __syncthreads();
  if (threadIdx.x > 0) return;
  put_logit(z, target, (expf(wanted - s.maximum) * inverse - 1.0f) * slope_of(p, wanted));
  p.losses[row] = logf(s.sum) + (s.maximum - wanted);
}

// The op's row of a row of logits, or −1 past the last.
__device__ inline int live_row(const LogitRows& p) {
  const int at = p.first + int(blockIdx.x);
  return at < *p.live_count ? p.live[at] : -1;
}

template <class T>
__device__ inline void score_row(const LogitRows& p, T* z) {
  const int row = live_row(p);
  if (row < 0) return;
  cap_row(p, z);
  const Softmax s = softmax_of(z, p.vocab);
  if (threadIdx.x > 0) return;
  const float lse = s.maximum + logf(s.sum);
  p.lse[row] = lse;
  p.logps[row] = logit(z, p.targets[row]) - lse;
}

// Replaces the logits by d · (onehot − softmax), times the slope of the cap.
template <class T>
__device__ inline void grad_row(const LogitRows& p, T* z) {
  const int row = live_row(p);
  if (row < 0) {
    over_row<true>(z, p.vocab, [](float) { return 0.0f; });
    return;
  }
  cap_row(p, z);
  const float d = p.dlogps[row], lse = p.lse[row], wanted = logit(z, p.targets[row]),
              own = expf(wanted - lse);
  __syncthreads();
  over_row<true>(
      z, p.vocab, [&](float v) { return exp2_fast((v - lse) * kLog2E) * -d * slope_of(p, v); });
  __syncthreads();
  if (threadIdx.x == 0) put_logit(z, p.targets[row], d * (1.0f - own) * slope_of(p, wanted));
}

// Calls body(row of logits) with its dtype.
template <class Body>
__device__ inline void with_row(const LogitRows& p, Body body) {
  const int64_t at = int64_t(blockIdx.x) * p.vocab;
  if (p.dtype == Dtype::bf16) body(static_cast<uint16_t*>(p.logits) + at);
  else body(static_cast<float*>(p.logits) + at);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) loss_rows(const __grid_constant__ LogitRows p) {
  with_row(p, [&](auto* z) { loss_row(p, z, p.first + int64_t(blockIdx.x)); });
}
extern "C" __global__ void __launch_bounds__(kThreads) score_rows(const __grid_constant__ LogitRows p) {
  with_row(p, [&](auto* z) { score_row(p, z); });
}
extern "C" __global__ void __launch_bounds__(kThreads) grad_rows(const __grid_constant__ LogitRows p) {
  with_row(p, [&](auto* z) { grad_row(p, z); });
}

extern "C" __global__ void __launch_bounds__(kThreads) sum_losses(const __grid_constant__ LossSum p) {
  __shared__ double space[kThreads / kWarp + 1];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < p.count; i += kThreads) sum += double(p.losses[i]);
  sum = block_sum(sum, space);
  if (threadIdx.x == 0) *p.loss = float(sum);
}

// Lists the indices of the rows that have a target, in order. One warp.
extern "C" __global__ void __launch_bounds__(kWarp) find_live_rows(const __grid_constant__ LiveRows p) {
  const int lane = int(threadIdx.x);
  int count = 0;
  for (int first = 0; first < p.tokens; first += kWarp) {
    const int target = first + lane < p.tokens ? p.targets[first + lane] : kIgnored;
    const bool is_live = target >= 0 && target < p.vocab;
    if (!is_live && target != kIgnored) report(p.fault, p.fault_code);
    const unsigned live = __ballot_sync(kAllLanes, is_live);
    if (is_live) p.live[count + __popc(live & ((1u << lane) - 1))] = first + lane;
    count += __popc(live);
  }
  if (lane == 0) *p.live_count = count;
}

extern "C" __global__ void __launch_bounds__(kThreads) gather_live(const __grid_constant__ MovedRows p) {
  const int at = p.first + int(blockIdx.x);
  const bool is_live = at < *p.live_count;
  const uint16_t* from = p.from + (is_live ? p.live[at] : 0) * p.halves;
  for (int64_t i = threadIdx.x; i < p.halves; i += kThreads)
    p.to[blockIdx.x * p.halves + i] = is_live ? from[i] : uint16_t(0);
}
extern "C" __global__ void __launch_bounds__(kThreads) scatter_live(const __grid_constant__ MovedRows p) {
  const int at = p.first + int(blockIdx.x);
  if (at >= *p.live_count) return;
  uint16_t* to = p.to + p.live[at] * p.halves;
  for (int64_t i = threadIdx.x; i < p.halves; i += kThreads) to[i] = p.from[blockIdx.x * p.halves + i];
}
