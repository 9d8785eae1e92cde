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

struct History {
  const float* history;
  const float* amax;
  float* y;
  int64_t count;
};

}  // namespace cairn::cuda
