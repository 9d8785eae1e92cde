// Parameters of glu.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// y = activation(gate) · up, or from dy the gradients of both.
struct Glu {
  const void* dy;
  const void* gate;
  const void* up;
  void* y;
  void* dgate;
  void* dup;
  int64_t count;
  Dtype dy_dtype, gate_dtype, up_dtype;
};

// Even columns of x are gate, odd ones up.
struct ClampedGlu {
  const void* dy;
  const void* x;
  void* out;
  int64_t count;
  float alpha, limit;
  Dtype dtype;
};

}  // namespace cairn::cuda
