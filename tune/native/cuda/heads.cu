// qk_norm_rope and its gradients: a warp a head.
#include "floats.h"
#include "norms.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kWarps = 8;
constexpr int64_t kRowsPerSum = 64;

struct Place {
  int64_t head, row, at;
  const float* cosines;
  int lane;
};

// Which head this warp has, or false where there is none or its position is out of place.
__device__ bool find_head(const HeadNorm& p, Place& place) {
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

// body(i, number i of the head after a rotation by `direction` of what `number` gives), each i once.
template <class Number, class Body>
__device__ void rotate(const HeadNorm& p, const Place& place, float direction, Number number, Body body) {
  const int half = p.rotated / 2;
  for (int i = place.lane; i < half; i += kWarp) {
    const float a = number(i), b = number(i + half), c = place.cosines[i],
                s = direction * place.cosines[i + half];
    body(i, a * c - b * s);
    body(i + half, a * s + b * c);
  }
  for (int i = p.rotated + place.lane; i < p.width; i += kWarp) body(i, number(i));
}

}  // namespace

extern "C" __global__ void qk_norm_rope(const __grid_constant__ HeadNorm p) {
  Place place;
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
  Place place;
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

// A block a span of rows, a thread a number of the head: rows are summed in spans of fixed size.
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
        if (i < half) back = dy(i) * cosines[i] + dy(i + half) * cosines[i + half];
        else if (i < p.rotated) back = dy(i) * cosines[i - half] - dy(i - half) * cosines[i];
        else back = dy(i);
        sum += back * load_float(p.x, p.dtype, at + i) * p.rstd[t * p.heads + head];
      }
    }
    p.partial[int64_t(blockIdx.x) * p.width + i] = sum;
  }
}

// Spans in order.
extern "C" __global__ void qk_norm_rope_weight_sum(const __grid_constant__ HeadNorm p) {
  const int64_t spans = (p.rows + kRowsPerSum - 1) / kRowsPerSum;
  for (int i = threadIdx.x; i < p.width; i += blockDim.x) {
    float sum = 0;
    for (int64_t span = 0; span < spans; span++) sum += p.partial[span * p.width + i];
    static_cast<float*>(p.out)[i] = sum;
  }
}
