// Parameters of experts.cu: T tokens with K choices each among E experts.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

struct Route {
  const void* logits;
  float* weights;
  int32_t* ids;
  // Gradient only; weights and ids are inputs then.
  const float* dweights;
  void* dlogits;
  int32_t* fault;
  int32_t fault_code, softmax_over_all, sigmoid, tokens, experts, top_k;
  Dtype dtype;
  int32_t padding;
};

struct ExpertOrder {
  const int32_t* ids;
  int32_t* counts;
  int32_t* ends;
  int32_t* tokens;
  int32_t* places;
  int32_t* fault;
  int32_t fault_code, choices, experts, top_k;
};

struct ExpertAdapters {
  const int32_t* adapters;
  const int32_t* tokens;
  const int32_t* ends;
  int32_t* y;
  int32_t* fault;
  int32_t fault_code, places, experts, slots, token_count, padding;
};

struct Combine {
  const void* z;
  const int32_t* places;
  const float* weights;
  const void* addend;
  void* y;
  // Gradient only.
  const void* dy;
  void* dz;
  float* dweights;
  int32_t* fault;
  int64_t columns;
  int32_t fault_code, top_k, rows;
  Dtype z_dtype, addend_dtype, y_dtype;
};

struct ExpertBiasGrad {
  const void* dy;
  const int32_t* ends;
  float* dbias;
  int32_t experts, columns, rows;
  Dtype dtype;
};

struct Balance {
  const void* logits;
  const int32_t* ids;
  const int32_t* counted;
  float* partial;
  float* sums;
  const float* dsums;
  void* dlogits;
  int32_t tokens, experts, top_k, spans;
  Dtype dtype;
  int32_t padding;
};

struct BalanceLoss {
  const float* sums;
  const float* scale;
  float* loss;
  float* dsums;
  int32_t experts, top_k;
  float coefficient;
  int32_t padding;
};

}  // namespace cairn::cuda
