// Values of a whole tensor: the largest magnitude, its history, and the sum of squares.
#include "scales.h"

#include "floats.h"
#include "spans.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

// The squares of at most kSpan elements [from, to), added by the whole block.
__device__ float sum_span(const void* x, Dtype dtype, int64_t from, int64_t to, float* space) {
  float sum = 0;
  for (int64_t i = from + threadIdx.x; i < to && i < from + kSpan; i += blockDim.x) {
    const float value = load_float(x, dtype, i);
    sum = fmaf(value, value, sum);
  }
  return block_sum(sum, space);
}

// Sums of spans in double, in an order that depends only on their number.
__device__ float add_spans(const float* partial, int64_t spans, double* space) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < spans; i += blockDim.x) sum += double(partial[i]);
  return float(block_sum(sum, space));
}

// Elements [from, to), and the place of its spans' sums. No two parts have the same place, because they do
// not overlap and each has one more place than its length needs.
struct Part {
  int64_t from = 0, to = 0, place = 0;

  __device__ Part(const SquaresOfParts& p, int64_t index) {
    const int64_t first = p.ends[2 * index], end = p.ends[2 * index + 1],
                  before = index > 0 ? p.ends[2 * index - 1] : 0;
    if (first < before || end < first || end > p.count) {
      report(p.fault, p.fault_code);
      return;
    }
    from = first;
    to = end;
    place = from / kSpan + index;
  }
  __device__ int64_t spans() const { return (to - from + kSpan - 1) / kSpan; }
};

}  // namespace

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
  const float sum = sum_span(p.x, p.dtype, int64_t(blockIdx.x) * kSpan, p.count, space);
  if (threadIdx.x == 0) p.partial[blockIdx.x] = sum;
}

extern "C" __global__ void sum_of_spans(const __grid_constant__ Reduce p) {
  __shared__ double space[kWarps];
  const float sum = add_spans(p.partial, p.spans, space);
  if (threadIdx.x == 0) *p.y = sum;
}

// gridDim.y blocks take the spans of a part in turn.
extern "C" __global__ void squares_of_parts(const __grid_constant__ SquaresOfParts p) {
  __shared__ float space[kWarps];
  const Part part(p, blockIdx.x);
  for (int64_t i = blockIdx.y; i < part.spans(); i += gridDim.y) {
    const float sum = sum_span(p.x, p.dtype, part.from + i * kSpan, part.to, space);
    if (threadIdx.x == 0) p.partial[part.place + i] = sum;
  }
}

// One block per part. The last one adds the sums of all parts in order.
extern "C" __global__ void __launch_bounds__(kThreads)
    sum_of_parts(const __grid_constant__ SquaresOfParts p) {
  __shared__ double space[kWarps];
  __shared__ float staged[kThreads];
  const Part part(p, blockIdx.x);
  const float sum = add_spans(p.partial + part.place, part.spans(), space);
  if (threadIdx.x == 0) p.sums[blockIdx.x] = sum;
  if (!arrives_last(p.arrived, int(gridDim.x))) return;
  float total = 0;
  for (int64_t first = 0; first < p.parts; first += kThreads) {
    if (first + threadIdx.x < p.parts) staged[threadIdx.x] = p.sums[first + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0)
      for (int i = 0; i < kThreads && first + i < p.parts; i++) total += staged[i];
    __syncthreads();
  }
  if (threadIdx.x == 0) *p.y = total;
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
