// Parameters of matmul_f32.cu.
#pragma once
#include "matmul.h"

namespace cairn::cuda {

// Floats of a matrix: rows are the result's rows or columns, numbers run along k.
struct PlainOperand {
  const void* data;
  int64_t row_stride, k_stride;
  Dtype dtype;
  int32_t padding;
};

// The operands of `result` are unused. With `sums_rows`, sums run along the rows of experts.
struct MatmulF32 {
  Matmul result;
  PlainOperand a[2], b[2];
  int32_t sums_rows, padding;
};

}  // namespace cairn::cuda
