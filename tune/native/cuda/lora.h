// Parameters of lora.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// z (rows, max_rank) is the product with a, scaled and rounded.
struct LoraDelta {
  const void* x;
  const void* a;
  const void* b;
  const int32_t* adapters;
  const float* ranks;
  const void* addend;
  float* z;
  float* y;
  int32_t* fault;
  int64_t rows, k, n, max_rank, count;
  int32_t wrong_adapter, wrong_rank;
  // Whether z is rounded to bf16.
  int32_t rounds;
  Dtype x_dtype, dtype, addend_dtype;
};

}  // namespace cairn::cuda
