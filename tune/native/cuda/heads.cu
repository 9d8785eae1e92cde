// qk_norm_rope and its gradients: one warp per head.
#include "floats.h"
#include "norms.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kWarps = 8;
constexpr int64_t kRowsPerSum = 64;

struct HeadRow {
  int64_t head, row, at;
  const float* cosines;
  int lane;
};

// Finds the head of this warp. False if there is none or its position is out of range.
__device__ bool find_head(const HeadNorm& p, HeadRow& place) {
  place.lane = int(threadIdx.x) % kWarp;
  place.head = int64_t(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (place.head >= p.rows * p.heads) return false;
  place.row = place.head / p.heads;
  place.at = place.head * p.width;
  const int32_t position = p.positions[place.row];
  if (position < 0 || position >= p.limit) {
    if (place.lane == 0) report(p.fault, p.fault_code);
    return false;
  }
  place.cosines = p.cos_sin + int64_t(position) * p.rotated;
  return true;
}

__device__ float weight_at(const HeadNorm& p, int i) {
  const float w = load_float(p.weight, p.weight_dtype, i);
  return p.offset == 0 ? w : p.offset + w;
}

// body(i, number i of the head after a rotation by `direction` of the values of `number`), once for each i.
template <class Number, class Body>
__device__ void rotate(const HeadNorm& p, const HeadRow& place, float direction, Number number, Body body) {
  const int half = p.rotated / 2;
  for (int i = place.lane; i < half; i += kWarp) {
    const int first = p.interleaved ? 2 * i : i, second = p.interleaved ? first + 1 : i + half;
    const float a = number(first), b = number(second), c = place.cosines[i],
                s = direction * place.cosines[i + half];
    body(first, a * c - b * s);
    body(second, a * s + b * c);
  }
  for (int i = p.rotated + place.lane; i < p.width; i += kWarp) body(i, number(i));
}

// The usual heads, all of whose dimensions rotate: a lane keeps kEach numbers of either half in registers, so
// that everything is read once.
template <int kEach>
struct Halves {
  float low[kEach], high[kEach];

  __device__ void load(const void* data, Dtype dtype, int64_t at, int half) {
    for (int j = 0; j < kEach; j++) {
      low[j] = load_float(data, dtype, at + j);
      high[j] = load_float(data, dtype, at + half + j);
    }
  }
  __device__ void store(void* data, Dtype dtype, int64_t at, int half) const {
    for (int j = 0; j < kEach; j++) {
      store_float(data, dtype, at + j, low[j]);
      store_float(data, dtype, at + half + j, high[j]);
    }
  }
  __device__ void rotate(const float* cosines, int half, float direction) {
    for (int j = 0; j < kEach; j++) {
      const float a = low[j], b = high[j], c = cosines[j], s = direction * cosines[half + j];
      low[j] = a * c - b * s;
      high[j] = a * s + b * c;
    }
  }
};

template <int kEach>
__device__ void forward_whole(const HeadNorm& p, const HeadRow& place) {
  const int half = kEach * kWarp, from = place.lane * kEach;
  Halves<kEach> x, w;
  x.load(p.x, p.dtype, place.at + from, half);
  float r = 1;
  if (p.weight) {
    w.load(p.weight, p.weight_dtype, from, half);
    float sum = 0;
    for (int j = 0; j < kEach; j++) sum = fmaf(x.low[j], x.low[j], fmaf(x.high[j], x.high[j], sum));
    r = 1.0f / sqrtf(warp_sum(sum) / float(p.width) + p.eps);
    for (int j = 0; j < kEach; j++) {
      x.low[j] = x.low[j] * r * (p.offset == 0 ? w.low[j] : p.offset + w.low[j]);
      x.high[j] = x.high[j] * r * (p.offset == 0 ? w.high[j] : p.offset + w.high[j]);
    }
  }
  if (place.lane == 0) p.rstd[place.head] = r;
  x.rotate(place.cosines + from, half, 1);
  x.store(p.out, p.dtype, place.at + from, half);
}

template <int kEach>
__device__ void backward_whole(const HeadNorm& p, const HeadRow& place) {
  const int half = kEach * kWarp, from = place.lane * kEach;
  Halves<kEach> back, x, w;
  back.load(p.dy, p.dy_dtype, place.at + from, half);
  back.rotate(place.cosines + from, half, -1);
  if (p.weight) {
    x.load(p.x, p.dtype, place.at + from, half);
    w.load(p.weight, p.weight_dtype, from, half);
    const float r = p.rstd[place.head];
    float sum = 0;
    for (int j = 0; j < kEach; j++) {
      back.low[j] *= p.offset == 0 ? w.low[j] : p.offset + w.low[j];
      back.high[j] *= p.offset == 0 ? w.high[j] : p.offset + w.high[j];
      sum = fmaf(back.low[j], x.low[j], fmaf(back.high[j], x.high[j], sum));
    }
    const float pull = warp_sum(sum) * r * r / float(p.width);
    for (int j = 0; j < kEach; j++) {
      back.low[j] = r * (back.low[j] - x.low[j] * pull);
      back.high[j] = r * (back.high[j] - x.high[j] * pull);
    }
  }
  back.store(p.out, p.dtype, place.at + from, half);
}

}  // namespace

extern "C" __global__ void qk_norm_rope_64(const __grid_constant__ HeadNorm p) {
  HeadRow place;
  if (find_head(p, place)) forward_whole<1>(p, place);
}
extern "C" __global__ void qk_norm_rope_128(const __grid_constant__ HeadNorm p) {
  HeadRow place;
  if (find_head(p, place)) forward_whole<2>(p, place);
}
extern "C" __global__ void qk_norm_rope_grad_64(const __grid_constant__ HeadNorm p) {
  HeadRow place;
  if (find_head(p, place)) backward_whole<1>(p, place);
}
extern "C" __global__ void qk_norm_rope_grad_128(const __grid_constant__ HeadNorm p) {
  HeadRow place;
  if (find_head(p, place)) backward_whole<2>(p, place);
}

extern "C" __global__ void qk_norm_rope(const __grid_constant__ HeadNorm p) {
  HeadRow place;
  if (!find_head(p, place)) return;
  float r = 1;
  if (p.weight) {
    float sum = 0;
    for (int i = place.lane; i < p.width; i += kWarp) {
      const float x = load_float(p.x, p.dtype, place.at + i);
      sum = fmaf(x, x, sum);
    }
    r = 1.0f / sqrtf(warp_sum(sum) / float(p.width) + p.eps);
  }
  if (place.lane == 0) p.rstd[place.head] = r;
  rotate(
      p, place, 1,
      [&](int i) {
        const float x = load_float(p.x, p.dtype, place.at + i);
        return p.weight ? x * r * weight_at(p, i) : x;
      },
      [&](int i, float y) { store_float(p.out, p.dtype, place.at + i, y); });
}

extern "C" __global__ void qk_norm_rope_grad(const __grid_constant__ HeadNorm p) {
  HeadRow place;
  if (!find_head(p, place)) return;
  const auto dy = [&](int i) { return load_float(p.dy, p.dy_dtype, place.at + i); };
  if (!p.weight) {
    rotate(p, place, -1, dy, [&](int i, float back) { store_float(p.out, p.dtype, place.at + i, back); });
    return;
  }
  const float r = p.rstd[place.head];
  float sum = 0;
  rotate(p, place, -1, dy, [&](int i, float back) {
    sum = fmaf(back * weight_at(p, i), load_float(p.x, p.dtype, place.at + i), sum);
  });
  const float pull = warp_sum(sum) * r * r / float(p.width);
  rotate(p, place, -1, dy, [&](int i, float back) {
    const float x = load_float(p.x, p.dtype, place.at + i);
    store_float(p.out, p.dtype, place.at + i, r * (back * weight_at(p, i) - x * pull));
  });
}

// One block per span of rows, one thread per number of the head: rows are summed in spans of fixed size.
extern "C" __global__ void qk_norm_rope_weight_grad(const __grid_constant__ HeadNorm p) {
  const int half = p.rotated / 2;
  const int64_t from = int64_t(blockIdx.x) * kRowsPerSum;
  for (int i = threadIdx.x; i < p.width; i += blockDim.x) {
    float sum = 0;
    for (int64_t t = from; t < from + kRowsPerSum && t < p.rows; t++) {
      const int32_t position = p.positions[t];
      if (position < 0 || position >= p.limit) {
        report(p.fault, p.fault_code);
        continue;
      }
      const float* cosines = p.cos_sin + int64_t(position) * p.rotated;
      for (int64_t head = 0; head < p.heads; head++) {
        const int64_t at = (t * p.heads + head) * p.width;
        const auto dy = [&](int j) { return load_float(p.dy, p.dy_dtype, at + j); };
        float back;
        const int pair = p.interleaved ? i / 2 : i % half, distance = p.interleaved ? 1 : half;
        const bool is_first = p.interleaved ? i % 2 == 0 : i < half;
        if (i >= p.rotated) back = dy(i);
        else if (is_first) back = dy(i) * cosines[pair] + dy(i + distance) * cosines[pair + half];
        else back = dy(i) * cosines[pair] - dy(i - distance) * cosines[pair + half];
        sum += back * load_float(p.x, p.dtype, at + i) * p.rstd[t * p.heads + head];
      }
    }
    p.partial[int64_t(blockIdx.x) * p.width + i] = sum;
  }
}

// Sums the spans in order.
extern "C" __global__ void qk_norm_rope_weight_sum(const __grid_constant__ HeadNorm p) {
  const int64_t spans = (p.rows + kRowsPerSum - 1) / kRowsPerSum;
  for (int i = threadIdx.x; i < p.width; i += blockDim.x) {
    float sum = 0;
    for (int64_t span = 0; span < spans; span++) sum += p.partial[span * p.width + i];
    static_cast<float*>(p.out)[i] = sum;
  }
}
