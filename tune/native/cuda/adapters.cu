// Ops that adapters need besides products: norms of the rows of adapted weights, and scaled columns. The
// latter read each number once, and a thread computes the factor of its columns once for several rows.
#include "adapters.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kWarps = 8;
// Ranks of b in shared memory at a time.
constexpr int kRanks = 64;

// The columns of this thread, and the rows of its block.
struct Part {
  int64_t column, first, last;
  bool is_pack;

  __device__ Part(int64_t rows, int64_t columns, int each) : is_pack(columns % kPack == 0) {
    column = (int64_t(blockIdx.y) * blockDim.x + threadIdx.x) * (is_pack ? kPack : 1);
    first = int64_t(blockIdx.x) * each;
    last = first + each < rows ? first + each : rows;
  }
};

// Factors (rows, ranks) of the rows from `first` on: alpha · b[first …, from …], zeros past the ends.
__device__ void load_factors(const RowNorms& p, int64_t first, int64_t from, float* factors) {
  for (int i = int(threadIdx.x); i < kNormRows * kRanks; i += int(blockDim.x)) {
    const int64_t row = first + i / kRanks, r = from + i % kRanks;
    factors[i] = row < p.rows && r < p.rank ? p.alpha * load_float(p.b, p.b_dtype, row * p.rank + r) : 0;
  }
}

}  // namespace

// One block for kNormRows rows, one thread per column. Ranks are added in order, as on the CPU.
extern "C" __global__ void row_norms(const __grid_constant__ RowNorms p) {
  __shared__ float space[kWarps], factors[kNormRows * kRanks];
  const int64_t first = int64_t(blockIdx.x) * kNormRows, columns = p.weight.columns;
  float sums[kNormRows] = {};
  for (int64_t start = 0; start < columns; start += blockDim.x) {
    const int64_t column = start + threadIdx.x;
    const bool is_inside = column < columns;
    float values[kNormRows];
    for (int i = 0; i < kNormRows; i++)
      values[i] = is_inside && first + i < p.rows ? decode_at(p.weight, first + i, column) : 0;
    for (int64_t from = 0; from < p.rank; from += kRanks) {
      __syncthreads();
      load_factors(p, first, from, factors);
      __syncthreads();
      for (int r = 0; r < kRanks && from + r < p.rank; r++) {
        const float other = is_inside ? load_float(p.a, p.a_dtype, (from + r) * columns + column) : 0;
        for (int i = 0; i < kNormRows; i++) values[i] += factors[i * kRanks + r] * other;
      }
    }
    for (int i = 0; i < kNormRows; i++) sums[i] = fmaf(values[i], values[i], sums[i]);
  }
  for (int i = 0; i < kNormRows; i++) {
    const float sum = block_sum(sums[i], space);
    if (threadIdx.x == 0 && first + i < p.rows) p.y[first + i] = sqrtf(sum);
  }
}

extern "C" __global__ void scale_columns(const __grid_constant__ ScaleColumns p) {
  const Part part(p.rows, p.columns, kScaledRows);
  if (part.column >= p.columns) return;
  float factors[kPack], norms[kPack], bias[kPack] = {};
  const int n = load_some(p.weight, Dtype::f32, part.column, part.is_pack, factors);
  load_some(p.norms, Dtype::f32, part.column, part.is_pack, norms);
  for (int i = 0; i < n; i++) factors[i] = factors[i] / norms[i];
  if (p.bias) load_some(p.bias, p.bias_dtype, part.column, part.is_pack, bias);
  for (int64_t t = part.first; t < part.last; t++) {
    const int64_t at = t * p.columns + part.column;
    float x[kPack], addend[kPack], y[kPack];
    load_some(p.x, p.dtype, at, part.is_pack, x);
    if (p.addend) load_some(p.addend, p.addend_dtype, at, part.is_pack, addend);
    for (int i = 0; i < n; i++) {
      y[i] = x[i] * factors[i];
      if (p.bias) y[i] += bias[i];
      if (p.addend) y[i] += addend[i];
    }
    store_some(p.y, p.dtype, at, part.is_pack, y);
  }
}

// Sums of dy · x over a span of rows, from the first row to the last.
extern "C" __global__ void scale_columns_grad_spans(const __grid_constant__ ScaleColumnsGrad p) {
  const Part part(p.rows, p.columns, kGradRows);
  if (part.column >= p.columns) return;
  float sums[kPack] = {};
  for (int64_t t = part.first; t < part.last; t++) {
    float dy[kPack], x[kPack];
    const int n = load_some(p.dy, p.dy_dtype, t * p.columns + part.column, part.is_pack, dy);
    load_some(p.x, p.dtype, t * p.columns + part.column, part.is_pack, x);
    for (int i = 0; i < n; i++) sums[i] += dy[i] * x[i];
  }
  store_some(p.partial, Dtype::f32, blockIdx.x * p.columns + part.column, part.is_pack, sums);
}

// One thread per column, from the first span to the last.
extern "C" __global__ void scale_columns_weight_grad(const __grid_constant__ ScaleColumnsGrad p) {
  const int64_t column = first_of_thread();
  if (column >= p.columns) return;
  float sum = 0;
  for (int64_t i = 0; i < p.spans; i++) sum += p.partial[i * p.columns + column];
  p.dweight[column] = sum / p.norms[column];
}

extern "C" __global__ void adapter_columns(const __grid_constant__ AdapterColumns p) {
  const Part part(p.rows, p.columns, kScaledRows);
  if (part.column >= p.columns) return;
  float bias[kPack] = {};
  if (p.bias) load_some(p.bias, p.bias_dtype, part.column, part.is_pack, bias);
  for (int64_t t = part.first; t < part.last; t++) {
    const int32_t adapter = p.adapters[t];
    const bool is_wrong = adapter < -1 || adapter >= p.limit, has_adapter = adapter >= 0 && !is_wrong;
    if (is_wrong) report(p.fault, p.fault_code);
    const int64_t at = t * p.columns + part.column;
    float x[kPack], delta[kPack], factors[kPack], addend[kPack] = {}, y[kPack];
    const int n = load_some(p.x, Dtype::f32, at, part.is_pack, x);
    load_some(p.delta, Dtype::f32, at, part.is_pack, delta);
    if (has_adapter)
      load_some(p.factors, Dtype::f32, adapter * p.columns + part.column, part.is_pack, factors);
    if (p.addend) load_some(p.addend, p.addend_dtype, at, part.is_pack, addend);
    for (int i = 0; i < n; i++)
      y[i] = has_adapter ? (x[i] + delta[i]) * factors[i] + bias[i] + addend[i]
                         : (x[i] + bias[i]) + (delta[i] + addend[i]);
    store_some(p.y, p.dtype, at, part.is_pack, y);
  }
}
