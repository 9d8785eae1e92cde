// Parameters of preferences.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// x (tokens) and y (count): sums over segments, or their gradient.
struct Segments {
  const float* from;
  const int32_t* segments;
  float* to;
  int32_t* fault;
  int64_t tokens, count;
  int32_t fault_code, padding;
};

// `lengths` may be null. Pointers and numbers that an op does not use are zero.
struct PreferenceLoss {
  const float* scores;
  const float* reference;
  const float* weights;
  const float* lengths;
  const float* likelihood;
  const float* shares;
  const float* baseline;
  float* loss;
  float* dscores;
  float* dlikelihood;
  // Pairs, or sequences of kto_loss.
  int64_t count;
  int32_t kind;
  float beta, smoothing;
  int32_t padding;
};

}  // namespace cairn::cuda
