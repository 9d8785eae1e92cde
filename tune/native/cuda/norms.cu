// rms_norm and its gradients: one block per row. A row is read twice, the second time from the near caches.
#include "norms.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kWarps = 8;

// body(i, n values from column i on), n at a time if the row allows it.
template <class Body>
__device__ void over_columns(int64_t columns, Body body) {
  if (columns % kPack == 0)
    for (int64_t i = int64_t(threadIdx.x) * kPack; i < columns; i += int64_t(blockDim.x) * kPack)
      body(i, true);
  else
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) body(i, false);
}

}  // namespace

extern "C" __global__ void rms_norm(const __grid_constant__ RmsNorm p) {
  __shared__ float space[kWarps];
  const int64_t row = int64_t(blockIdx.x) * p.columns;
  float sum = 0;
  over_columns(p.columns, [&](int64_t i, bool is_pack) {
    float x[kPack];
    const int n = load_some(p.x, p.dtype, row + i, is_pack, x);
    for (int j = 0; j < n; j++) sum = fmaf(x[j], x[j], sum);
  });
  const float r = 1.0f / sqrtf(block_sum(sum, space) / float(p.columns) + p.eps);
  if (threadIdx.x == 0) p.rstd[blockIdx.x] = r;
  over_columns(p.columns, [&](int64_t i, bool is_pack) {
    float x[kPack], w[kPack], y[kPack];
    const int n = load_some(p.x, p.dtype, row + i, is_pack, x);
    load_some(p.weight, p.weight_dtype, i, is_pack, w);
    for (int j = 0; j < n; j++) y[j] = x[j] * r * (p.offset == 0 ? w[j] : p.offset + w[j]);
    store_some(p.out, p.dtype, row + i, is_pack, y);
  });
}

extern "C" __global__ void rms_norm_grad(const __grid_constant__ RmsNorm p) {
  __shared__ float space[kWarps];
  const int64_t row = int64_t(blockIdx.x) * p.columns;
  const float r = p.rstd[blockIdx.x];
  float sum = 0;
  over_columns(p.columns, [&](int64_t i, bool is_pack) {
    float dy[kPack], x[kPack], w[kPack];
    const int n = load_some(p.x, p.dtype, row + i, is_pack, x);
    load_some(p.dy, p.dy_dtype, row + i, is_pack, dy);
    load_some(p.weight, p.weight_dtype, i, is_pack, w);
    for (int j = 0; j < n; j++) sum = fmaf(dy[j] * (p.offset == 0 ? w[j] : p.offset + w[j]), x[j], sum);
  });
  const float pull = block_sum(sum, space) * r * r / float(p.columns);
  over_columns(p.columns, [&](int64_t i, bool is_pack) {
    float dy[kPack], x[kPack], w[kPack], dx[kPack];
    const int n = load_some(p.x, p.dtype, row + i, is_pack, x);
    load_some(p.dy, p.dy_dtype, row + i, is_pack, dy);
    load_some(p.weight, p.weight_dtype, i, is_pack, w);
    for (int j = 0; j < n; j++) dx[j] = r * (dy[j] * (p.offset == 0 ? w[j] : p.offset + w[j]) - x[j] * pull);
    if (p.addend) {
      load_some(p.addend, p.dtype, row + i, is_pack, x);
      for (int j = 0; j < n; j++)
        dx[j] = x[j] + (p.dtype == Dtype::f32 ? dx[j] : decode_bf16(encode_bf16(dx[j])));
    }
    store_some(p.out, p.dtype, row + i, is_pack, dx);
  });
}

// One thread per column, from the first row to the last.
extern "C" __global__ void rms_norm_weight_grad(const __grid_constant__ RmsNorm p) {
  const int64_t column = first_of_thread();
  if (column >= p.columns) return;
  float sum = 0;
  for (int64_t t = 0; t < p.rows; t++) {
    const int64_t at = t * p.columns + column;
    sum += load_float(p.dy, p.dy_dtype, at) * load_float(p.x, p.dtype, at) * p.rstd[t];
  }
  static_cast<float*>(p.out)[column] = sum;
}
