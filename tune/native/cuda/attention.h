// Parameters of the kernels of attention*.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

struct Attention {
  const void* q;
  const void* k;
  const void* v;
  void* y;
  float* lse;
  // Documents end at cu_seqlens[1 … documents].
  const int32_t* cu_seqlens;
  const void* sinks;
  // Gradient only. delta (heads, tokens) is dy·y of each row and head, from attention_delta.
  const void* dy;
  float* delta;
  void* dq;
  void* dk;
  void* dv;
  int32_t documents, tokens, heads, kv_heads, width, window;
  float scale, cap;
  Dtype dtype, sinks_dtype;
  // Numbers of a row of q and of k.
  int32_t q_stride, k_stride;
};

struct SinksGrad {
  const void* dy;
  const void* y;
  const float* lse;
  const void* sinks;
  float* dsinks;
  int32_t tokens, heads, width;
  Dtype dtype, sinks_dtype;
  int32_t padding;
};

}  // namespace cairn::cuda
