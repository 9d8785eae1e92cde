// Parameters of elementwise.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// y[i] = combine(a[i], b[i]); `factor` is for scale, `cap` for softcap.
struct Elementwise {
  const void* a;
  const void* b;
  void* y;
  const float* factor;
  int64_t count;
  float cap;
  Dtype a_dtype, b_dtype, y_dtype;
};

struct Dropout {
  const void* x;
  void* y;
  const int32_t* random;
  int64_t count;
  uint32_t stream;
  float rate;
  Dtype dtype;
};

}  // namespace cairn::cuda
