// Parameters of scales.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// A number from all of x: in the first launch one of each span, in `partial`.
struct Reduce {
  const void* x;
  float* partial;
  float* y;
  int64_t count, spans;
  Dtype dtype;
};

struct History {
  const float* history;
  const float* amax;
  float* y;
  int64_t count;
};

}  // namespace cairn::cuda
