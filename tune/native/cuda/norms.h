// Parameters of norms.cu and heads.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// Parameters of rms_norm and its gradients. Pointers that an op does not use are null.
struct RmsNorm {
  const void* dy;
  const void* x;
  const void* weight;
  const void* addend;
  void* out;
  float* rstd;
  int64_t rows, columns;
  float eps, offset;
  Dtype dy_dtype, dtype, weight_dtype;
};

// Parameters of qk_norm_rope and its gradients.
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
  int32_t interleaved;
};

}  // namespace cairn::cuda
