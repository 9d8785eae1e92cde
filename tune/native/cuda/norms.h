// Parameters of norms.cu and heads.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// Of rms_norm and its gradients; those that an op has no use for are null.
struct RmsNorm {
  const void* dy;
  const void* x;
  const void* weight;
  void* out;
  float* rstd;
  int64_t rows, columns;
  float eps, offset;
  Dtype dy_dtype, dtype, weight_dtype;
};

// Of qk_norm_rope and its gradients.
struct HeadNorm {
  const void* dy;
  const void* x;
  const void* weight;
  const int32_t* positions;
  const float* cos_sin;
  void* out;
  float* rstd;
  float* partial;
  int32_t* fault;
  int64_t rows, limit;
  int32_t heads, width, rotated, fault_code;
  float eps, offset;
  Dtype dy_dtype, dtype, weight_dtype;
};

}  // namespace cairn::cuda
