// Parameters of matmul_fp8.cu.
#pragma once
#include "matmul.h"

namespace cairn::cuda {

// The first pair are fp8 codes, both along k in rows of a multiple of sixteen that are padded with zeros.
// Their lengths, distances and k[0] count pairs of codes, so that they are copied as numbers of 16 bits.
struct MatmulFp8 {
  Matmul of;
  // If not null, the scale of 128 columns of the result and 128 k is
  // scales[column / 128 · of_columns + k / 128 · of_step].
  const float* scales;
  int64_t of_columns, of_step;
};

}  // namespace cairn::cuda
