// Parameters of stage.cu.
#pragma once
#include <cstdint>

#include "matmul.h"

namespace cairn::cuda {

// Numbers of a matrix, or of several in a row, as a product reads them: rows of `stride` numbers, a whole
// number of sixteens, with zeros past the end of a row.
struct StagedMatrix {
  Stored from;
  void* to;
  int64_t rows, stride;
  // Rows of one matrix and bytes from one to the next.
  int64_t rows_of_matrix, next;
  // Rounded before: by a_amax, and at random by a key of seed (low word first) and step.
  Grid grid;
  int32_t is_f32;
  const float* a_amax;
  const int32_t* random;
  int32_t stream;
  // Whether numbers are without the scale of the whole tensor.
  int32_t without_tensor_scale;
};

constexpr int kMaxStaged = 4;

struct Stage {
  StagedMatrix matrix[kMaxStaged];
  // Runs of sixteen numbers of all matrices up to and with this one.
  int64_t runs[kMaxStaged];
  int64_t count;
};

}  // namespace cairn::cuda
