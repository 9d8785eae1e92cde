// Parameters of stage.cu.
#pragma once
#include <cstdint>

#include "matmul.h"

namespace cairn::cuda {

// Numbers of one or several consecutive matrices in the form that a product reads: rows of `stride` numbers,
// a multiple of sixteen, padded with zeros.
struct StagedMatrix {
  Stored from;
  void* to;
  int64_t rows, stride;
  // Rows of one matrix, and bytes from one to the next.
  int64_t rows_of_matrix, next;
  // How numbers are rounded: by a_amax, and stochastically with a key of seed (low word first) and step.
  Grid grid;
  int32_t is_f32;
  const float* a_amax;
  const int32_t* random;
  int32_t stream;
  // Whether numbers lack the scale of the whole tensor.
  int32_t without_tensor_scale;
};

constexpr int kMaxStaged = 4;

struct Stage {
  StagedMatrix matrix[kMaxStaged];
  // Cumulative runs of sixteen numbers up to and including this matrix.
  int64_t runs[kMaxStaged];
  int64_t count;
};

}  // namespace cairn::cuda
