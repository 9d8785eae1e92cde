// Ops that copy rows or parts of them: embed, columns, gather_rows, dequantize; and sums of columns.
#include "rows.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

// One block per row.
extern "C" __global__ void embed(const __grid_constant__ Embed p) {
  const int64_t t = blockIdx.x, columns = p.table.columns;
  const int32_t id = p.ids[t];
  const bool is_there = id >= 0 && id < p.limit;
  if (!is_there && threadIdx.x == 0) report(p.fault, p.fault_code);
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float value = is_there ? decode_at(p.table, id, i) : 0;
    store_float(p.y, p.dtype, t * columns + i, p.scale != 0 ? value * p.scale : value);
  }
}

// One thread per column, from the first row to the last. The table must be zero.
extern "C" __global__ void embed_grad(const __grid_constant__ EmbedGrad p) {
  const int64_t column = first_of_thread();
  if (column >= p.columns) return;
  for (int64_t t = 0; t < p.rows; t++) {
    const int32_t id = p.ids[t];
    if (id < 0 || id >= p.limit) report(p.fault, p.fault_code);
    else p.dtable[id * p.columns + column] += p.scale * load_float(p.dy, p.dtype, t * p.columns + column);
  }
}

extern "C" __global__ void columns(const __grid_constant__ Columns p) {
  for (int64_t i = first_of_thread(); i < p.rows * p.part; i += threads_of_grid()) {
    const int64_t row = i / p.part, column = i % p.part;
    store_float(p.y, p.dtype, i, load_float(p.x, p.dtype, row * p.whole + p.from + column));
  }
}

extern "C" __global__ void columns_grad(const __grid_constant__ Columns p) {
  for (int64_t i = first_of_thread(); i < p.rows * p.whole; i += threads_of_grid()) {
    const int64_t row = i / p.whole, column = i % p.whole - p.from;
    const bool is_inside = column >= 0 && column < p.part;
    const float own = is_inside ? load_float(p.x, p.dtype, row * p.part + column) : 0;
    store_float(p.y, p.dtype, i, p.addend ? own + load_float(p.addend, p.dtype, i) : own);
  }
}

// One thread per column, from the first row to the last.
extern "C" __global__ void column_sums(const __grid_constant__ ColumnSums p) {
  const int64_t column = first_of_thread();
  if (column >= p.columns) return;
  float sum = 0;
  for (int64_t t = 0; t < p.rows; t++) sum += load_float(p.x, p.dtype, t * p.columns + column);
  p.sums[column] = sum;
}

// One block per row; −1 is a row of zeros.
extern "C" __global__ void gather_rows(const __grid_constant__ GatherRows p) {
  const int32_t row = p.rows[blockIdx.x];
  const bool is_wrong = row < -1 || row >= p.limit;
  if (is_wrong && threadIdx.x == 0) report(p.fault, p.fault_code);
  for (int64_t i = threadIdx.x; i < p.columns; i += blockDim.x)
    store_float(p.y, p.dtype, int64_t(blockIdx.x) * p.columns + i,
        row < 0 || is_wrong ? 0 : load_float(p.x, p.dtype, row * p.columns + i));
}

extern "C" __global__ void dequantize(const __grid_constant__ Decode p) {
  for (int64_t i = first_of_thread(); i < p.rows * p.x.columns; i += threads_of_grid())
    store_float(p.y, p.dtype, i, decode_at(p.x, i / p.x.columns, i % p.x.columns));
}
