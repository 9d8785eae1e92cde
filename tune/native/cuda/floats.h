// Elements of float tensors, which are f32 or bf16.
#pragma once
#include <cstdint>

#include "codecs.h"
#include "ops.h"

namespace cairn::cuda {

__device__ inline float load_float(const void* data, Dtype dtype, int64_t at) {
  return dtype == Dtype::f32 ? static_cast<const float*>(data)[at]
                             : decode_bf16(static_cast<const uint16_t*>(data)[at]);
}

__device__ inline void store_float(void* data, Dtype dtype, int64_t at, float value) {
  if (dtype == Dtype::f32) static_cast<float*>(data)[at] = value;
  else static_cast<uint16_t*>(data)[at] = encode_bf16(value);
}

// The first element of this thread, and how far it is to its next, where threads take elements in turn.
__device__ inline int64_t first_of_thread() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64_t threads_of_grid() { return int64_t(gridDim.x) * blockDim.x; }

}  // namespace cairn::cuda
