// Values of a whole tensor: the largest magnitude, its history, and the sum of squares.
#include "scales.h"

#include "floats.h"
#include "spans.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {
constexpr int kWarps = 8;
}

// One block per span.
extern "C" __global__ void amax(const __grid_constant__ Reduce p) {
  __shared__ float space[kWarps];
  const float amax = block_max(span_max(p.x, p.dtype, p.count, blockIdx.x), space);
  if (threadIdx.x == 0) p.partial[blockIdx.x] = amax;
}

extern "C" __global__ void amax_of_spans(const __grid_constant__ Reduce p) {
  __shared__ float space[kWarps];
  float amax = 0;
  for (int64_t i = threadIdx.x; i < p.spans; i += blockDim.x) amax = fmaxf(amax, p.partial[i]);
  amax = block_max(amax, space);
  if (threadIdx.x == 0) *p.y = amax;
}

extern "C" __global__ void sum_squares(const __grid_constant__ Reduce p) {
  __shared__ float space[kWarps];
  float sum = 0;
  for (int64_t i = int64_t(blockIdx.x) * kSpan + threadIdx.x; i < p.count && i < (blockIdx.x + 1) * kSpan;
      i += blockDim.x) {
    const float x = load_float(p.x, p.dtype, i);
    sum = fmaf(x, x, sum);
  }
  sum = block_sum(sum, space);
  if (threadIdx.x == 0) p.partial[blockIdx.x] = sum;
}

// Sums in double, in an order that depends only on the number of spans.
extern "C" __global__ void sum_of_spans(const __grid_constant__ Reduce p) {
  __shared__ double space[kWarps];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < p.spans; i += blockDim.x) sum += double(p.partial[i]);
  sum = block_sum(sum, space);
  if (threadIdx.x == 0) *p.y = float(sum);
}

// Histories are short, so one thread is enough.
extern "C" __global__ void delayed_amax(const __grid_constant__ History p) {
  float past = 0;
  for (int64_t i = 1; i < p.count; i++) past = fmaxf(past, fabsf(p.history[i]));
  *p.y = past > 0 ? past : *p.amax;
}

extern "C" __global__ void observe_amax(const __grid_constant__ History p) {
  const float seen = *p.amax;
  p.y[0] = seen > p.y[0] ? seen : p.y[0];
}

extern "C" __global__ void roll_amax(const __grid_constant__ History p) {
  const float newest = p.y[0] < __int_as_float(0x7f800000) ? p.y[0] : 0;
  for (int64_t i = p.count - 1; i > 0; i--) p.y[i] = i == 1 ? newest : p.y[i - 1];
  p.y[0] = 0;
}
