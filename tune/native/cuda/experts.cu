// The choice of experts for each token, the grouping of rows by expert, and the combination of the experts'
// outputs.
#include "experts.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

// A row of logits, of which lane l of a warp has numbers l, l + 32, …
struct LogitsOfWarp {
  const void* data;
  int64_t first;
  int count;
  Dtype dtype;
  __device__ float at(int i) const { return load_float(data, dtype, first + i); }
  __device__ float maximum() const {
    float value = -INFINITY;
    for (int e = int(threadIdx.x) % kWarp; e < count; e += kWarp) value = fmaxf(value, at(e));
    return warp_max(value);
  }
  __device__ float sum_from(float maximum) const {
    float sum = 0;
    for (int e = int(threadIdx.x) % kWarp; e < count; e += kWarp) sum += expf(at(e) - maximum);
    return warp_sum(sum);
  }
};

__device__ inline int row_of_warp() {
  return int(blockIdx.x) * (int(blockDim.x) / kWarp) + int(threadIdx.x) / kWarp;
}

}  // namespace

// One warp per token. Finds choices one by one, each the largest remaining logit; of equals the lowest id.
extern "C" __global__ void __launch_bounds__(kThreads) route(const __grid_constant__ Route p) {
  const int t = row_of_warp(), lane = int(threadIdx.x) % kWarp;
  if (t >= p.tokens) return;
  const LogitsOfWarp row{p.logits, int64_t(t) * p.experts, p.experts, p.dtype};
  uint32_t taken = 0;  // one bit per number of this lane
  float maximum = 0, total = 0;
  for (int j = 0; j < p.top_k; j++) {
    float best = -INFINITY;
    int id = p.experts;
    for (int e = lane, i = 0; e < p.experts; e += kWarp, i++)
      if (!(taken >> i & 1) && (id == p.experts || row.at(e) > best)) best = row.at(e), id = e;
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(kAllLanes, best, step);
      const int other_id = __shfl_xor_sync(kAllLanes, id, step);
      if (other_id < p.experts && (id == p.experts || other > best || (!(best > other) && other_id < id)))
        best = other, id = other_id;
    }
    if (id % kWarp == lane) taken |= 1u << (id / kWarp);
    if (j == 0) maximum = best;
    const float weight = p.sigmoid ? 1 / (1 + expf(-best)) : expf(best - maximum);
    total += weight;
    if (lane == 0) {
      p.ids[int64_t(t) * p.top_k + j] = id;
      p.weights[int64_t(t) * p.top_k + j] = weight;
    }
  }
  if (p.sigmoid) return;
  if (p.softmax_over_all) total = row.sum_from(maximum);
  __syncwarp();
  for (int j = lane; j < p.top_k; j += kWarp) p.weights[int64_t(t) * p.top_k + j] /= total;
}

extern "C" __global__ void __launch_bounds__(kThreads) route_grad(const __grid_constant__ Route p) {
  const int t = row_of_warp(), lane = int(threadIdx.x) % kWarp;
  if (t >= p.tokens) return;
  const LogitsOfWarp row{p.logits, int64_t(t) * p.experts, p.experts, p.dtype};
  const float *w = p.weights + int64_t(t) * p.top_k, *dw = p.dweights + int64_t(t) * p.top_k;
  const int32_t* ids = p.ids + int64_t(t) * p.top_k;
  float pull = 0;
  for (int j = 0; j < p.top_k; j++) {
    pull += w[j] * dw[j];
    if (lane == 0 && (ids[j] < 0 || ids[j] >= p.experts)) report(p.fault, p.fault_code);
  }
  const float maximum = p.softmax_over_all ? row.maximum() : 0,
              sum = p.softmax_over_all ? row.sum_from(maximum) : 1;
  for (int e = lane; e < p.experts; e += kWarp) {
    float grad = p.softmax_over_all ? -expf(row.at(e) - maximum) / sum * pull : 0;
    for (int j = 0; j < p.top_k; j++)
      if (ids[j] == e)
        grad += p.sigmoid            ? w[j] * (1 - w[j]) * dw[j]
                : p.softmax_over_all ? w[j] * dw[j]
                                     : w[j] * (dw[j] - pull);
    store_float(p.dlogits, p.dtype, row.first + e, grad);
  }
}

// One block per expert: counts its choices.
extern "C" __global__ void __launch_bounds__(kThreads) count_choices(const __grid_constant__ ExpertOrder p) {
  __shared__ int space[kWarps + 1];
  int count = 0;
  for (int i = int(threadIdx.x); i < p.choices; i += kThreads) {
    count += p.ids[i] == int(blockIdx.x);
    if (blockIdx.x == 0 && (p.ids[i] < 0 || p.ids[i] >= p.experts)) report(p.fault, p.fault_code);
  }
  count = block_sum(count, space);
  if (threadIdx.x == 0) p.counts[blockIdx.x] = count;
}

// One warp per expert: its choices, in order, follow those of the previous experts.
extern "C" __global__ void __launch_bounds__(kWarp) place_choices(const __grid_constant__ ExpertOrder p) {
  const int lane = int(threadIdx.x), expert = int(blockIdx.x);
  int place = 0;
  for (int e = lane; e < expert; e += kWarp) place += p.counts[e];
  place = warp_sum(place);
  if (lane == 0) p.ends[expert] = place + p.counts[expert];
  for (int first = 0; first < p.choices; first += kWarp) {
    const int i = first + lane;
    const bool is_own = i < p.choices && p.ids[i] == expert;
    const unsigned own = __ballot_sync(kAllLanes, is_own);
    if (is_own) {
      const int at = place + __popc(own & ((1u << lane) - 1));
      p.places[i] = at;
      p.tokens[at] = i / p.top_k;
    }
    place += __popc(own);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) expert_adapters(
    const __grid_constant__ ExpertAdapters p) {
  const int place = int(first_of_thread());
  if (place >= p.places) return;
  int expert = 0;
  while (expert + 1 < p.experts && place >= p.ends[expert]) expert++;
  const int token = p.tokens[place];
  if (token < 0 || token >= p.token_count) {
    report(p.fault, p.fault_code);
    return;
  }
  const int adapter = p.adapters[token];
  p.y[place] = adapter < 0 ? -1 : expert * p.slots + adapter;
}

// One block per token. Its choices are added in order.
extern "C" __global__ void __launch_bounds__(kThreads) combine(const __grid_constant__ Combine p) {
  const int64_t t = blockIdx.x;
  for (int64_t i = threadIdx.x; i < p.columns; i += kThreads) {
    float sum = 0;
    for (int j = 0; j < p.top_k; j++) {
      const int place = p.places[t * p.top_k + j];
      if (place < 0 || place >= p.rows) {
        report(p.fault, p.fault_code);
        continue;
      }
      const float z = load_float(p.z, p.z_dtype, place * p.columns + i);
      sum += (p.weights ? p.weights[t * p.top_k + j] : 1.0f) * z;
    }
    if (p.addend) sum += load_float(p.addend, p.addend_dtype, t * p.columns + i);
    store_float(p.y, p.y_dtype, t * p.columns + i, sum);
  }
}

// One block per choice.
extern "C" __global__ void __launch_bounds__(kThreads) combine_grad(const __grid_constant__ Combine p) {
  __shared__ float space[kWarps + 1];
  const int64_t choice = blockIdx.x, t = choice / p.top_k;
  const int place = p.places[choice];
  const bool is_there = place >= 0 && place < p.rows;
  if (!is_there && threadIdx.x == 0) report(p.fault, p.fault_code);
  float product = 0;
  for (int64_t i = threadIdx.x; i < p.columns && is_there; i += kThreads) {
    const float d = load_float(p.dy, p.y_dtype, t * p.columns + i);
    product = fmaf(d, load_float(p.z, p.z_dtype, place * p.columns + i), product);
    store_float(p.dz, p.z_dtype, place * p.columns + i, p.weights[choice] * d);
  }
  product = block_sum(product, space);
  if (threadIdx.x == 0) p.dweights[choice] = product;
}

// One thread per column of an expert, from its first row to its last.
extern "C" __global__ void __launch_bounds__(kThreads) expert_bias_grad(
    const __grid_constant__ ExpertBiasGrad p) {
  const int column = int(first_of_thread()), e = int(blockIdx.y);
  if (column >= p.columns) return;
  float sum = 0;
  for (int64_t row = e > 0 ? p.ends[e - 1] : 0; row < p.ends[e]; row++)
    sum += load_float(p.dy, p.dtype, row * p.columns + column);
  p.dbias[int64_t(e) * p.columns + column] = sum;
}

// One warp per span of rows. It keeps the sums in memory of its own, each number owned by a lane.
constexpr int kRowsPerSum = 64;

extern "C" __global__ void __launch_bounds__(kWarp) balance_spans(const __grid_constant__ Balance p) {
  const int lane = int(threadIdx.x), first = int(blockIdx.x) * kRowsPerSum,
            last = first + kRowsPerSum < p.tokens ? first + kRowsPerSum : p.tokens;
  float* sums = p.partial + int64_t(blockIdx.x) * 2 * p.experts;
  for (int e = lane; e < p.experts; e += kWarp) sums[e] = sums[p.experts + e] = 0;
  for (int t = first; t < last; t++) {
    if (p.counted && p.counted[t] == 0) continue;
    const LogitsOfWarp row{p.logits, int64_t(t) * p.experts, p.experts, p.dtype};
    const float maximum = row.maximum(), sum = row.sum_from(maximum);
    for (int e = lane; e < p.experts; e += kWarp) {
      for (int j = 0; j < p.top_k; j++) sums[e] += p.ids[int64_t(t) * p.top_k + j] == e ? 1.0f : 0.0f;
      sums[p.experts + e] += expf(row.at(e) - maximum) / sum;
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) balance_sums(const __grid_constant__ Balance p) {
  const int i = int(first_of_thread());
  if (i >= 2 * p.experts) return;
  float sum = 0;
  for (int span = 0; span < p.spans; span++) sum += p.partial[int64_t(span) * 2 * p.experts + i];
  p.sums[i] = sum;
}

extern "C" __global__ void __launch_bounds__(kThreads) balance_sums_grad(const __grid_constant__ Balance p) {
  const int t = row_of_warp(), lane = int(threadIdx.x) % kWarp;
  if (t >= p.tokens) return;
  const LogitsOfWarp row{p.logits, int64_t(t) * p.experts, p.experts, p.dtype};
  const bool counts = !p.counted || p.counted[t] != 0;
  const float* dp = p.dsums + p.experts;
  const float maximum = row.maximum(), sum = row.sum_from(maximum);
  float pull = 0;
  for (int e = lane; e < p.experts; e += kWarp) pull = fmaf(expf(row.at(e) - maximum) / sum, dp[e], pull);
  pull = warp_sum(pull);
  for (int e = lane; e < p.experts; e += kWarp)
    store_float(
        p.dlogits, p.dtype, row.first + e, counts ? expf(row.at(e) - maximum) / sum * (dp[e] - pull) : 0.0f);
}

extern "C" __global__ void __launch_bounds__(1) balance_loss(const __grid_constant__ BalanceLoss p) {
  const float* likely = p.sums + p.experts;
  double choices = 0, product = 0;
  for (int e = 0; e < p.experts; e++) choices += p.sums[e], product += double(p.sums[e]) * likely[e];
  const double rows = choices / p.top_k, factor = rows > 0
                                                      ? double(p.coefficient) * (p.scale ? *p.scale : 1.0f) *
                                                            double(p.experts) / (rows * rows)
                                                      : 0;
  *p.loss = float(factor * product);
  for (int e = 0; e < p.experts; e++) {
    p.dsums[e] = 0;
    p.dsums[p.experts + e] = float(factor * p.sums[e]);
  }
}
