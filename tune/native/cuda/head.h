// Parameters of head.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// Rows of logits, from row `first` of the op's on; they turn into their own gradient in place.
struct LogitRows {
  void* logits;
  const int32_t* targets;
  // Where rows without a target are left out: the numbers of those with one, and how many they are.
  const int32_t* live;
  const int32_t* live_count;
  float* losses;
  float* logps;
  float* lse;
  const float* dlogps;
  int32_t* fault;
  int32_t fault_code;
  int32_t first, vocab;
  Dtype dtype;
};

struct LossSum {
  const float* losses;
  float* loss;
  int64_t count;
};

struct LiveRows {
  const int32_t* targets;
  int32_t* live;
  int32_t* live_count;
  int32_t* fault;
  int32_t fault_code;
  int32_t tokens, vocab, padding;
};

// Rows live[first …] of `from` side by side in `to`, or the other way round; bytes of a row are whole halves
// of a word. Rows past the last are zeros.
struct MovedRows {
  const uint16_t* from;
  uint16_t* to;
  const int32_t* live;
  const int32_t* live_count;
  int64_t halves;
  int32_t first, padding;
};

}  // namespace cairn::cuda
