// Parameters of optimizer.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

struct ClipFactor {
  const float* sum_squares;
  const float* count;
  float* factor;
  float* norm;
  float max_norm;
};

struct Adamw {
  const float* p;
  const void* g;
  const float* m;
  const float* v;
  const float* factor;
  const float* schedule;
  float* p_next;
  float* m_next;
  float* v_next;
  int64_t count;
  float beta1, beta2, eps, weight_decay;
  Dtype g_dtype;
};

// In place. The maps are the numbers of the 256 codes of each moment, ascending.
struct Adamw8 {
  float* p;
  const void* g;
  uint8_t* m;
  uint8_t* v;
  float* m_scales;
  float* v_scales;
  const float* factor;
  const float* schedule;
  int64_t count;
  float beta1, beta2, eps, weight_decay;
  Dtype g_dtype;
  float m_map[256], v_map[256];
};

}  // namespace cairn::cuda
