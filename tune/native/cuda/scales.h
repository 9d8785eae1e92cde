// Parameters of scales.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// Reduces x to one number. The first launch writes one number per span to `partial`.
struct Reduce {
  const void* x;
  float* partial;
  float* y;
  int64_t count, spans;
  Dtype dtype;
};

// Sums of the squares of `parts` parts of x, which are [ends[2p], ends[2p + 1]). `partial` has a number for
// each span of a part, `sums` one for each part, and `arrived` is zero.
struct SquaresOfParts {
  const void* x;
  const int32_t* ends;
  float* partial;
  float* sums;
  uint32_t* arrived;
  float* y;
  int32_t* fault;
  int64_t count, parts;
  int32_t fault_code;
  Dtype dtype;
};

struct History {
  const float* history;
  const float* amax;
  float* y;
  int64_t count;
};

}  // namespace cairn::cuda
