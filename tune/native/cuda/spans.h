// Divides tensors into spans of fixed size, so that sums over them do not depend on the card.
#pragma once
#include <cstdint>

namespace cairn::cuda {

constexpr int64_t kSpan = 16384;

#if defined(__CUDACC__)

// This thread's share of the largest magnitude in a span. NaN is ignored.
__device__ inline float span_max(const void* x, Dtype dtype, int64_t count, int64_t span) {
  float amax = 0;
  for (int64_t i = span * kSpan + threadIdx.x; i < count && i < (span + 1) * kSpan; i += blockDim.x)
    amax = fmaxf(amax, fabsf(load_float(x, dtype, i)));
  return amax;
}

#endif

}  // namespace cairn::cuda
