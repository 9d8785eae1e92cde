// Parameters of head.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// Rows of logits, starting at row `first` of the op. They are replaced by their own gradient.
struct LogitRows {
  void* logits;
  const int32_t* targets;
  // If rows without a target are excluded: the indices of those with one, and their number.
  const int32_t* live;
  const int32_t* live_count;
  float* losses;
  float* logps;
  float* lse;
  const float* dlogps;
  int32_t* fault;
  int32_t fault_code;
  int32_t first, vocab;
  // Cap of logits, 0 for none.
  float cap;
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

// Copies rows live[first …] of `from` to consecutive rows of `to`, or the reverse. A row is a
// whole number of 16-bit units. Rows past the last are zeros.
struct MovedRows {
  const uint16_t* from;
  uint16_t* to;
  const int32_t* live;
  const int32_t* live_count;
  int64_t halves;
  int32_t first, padding;
};

}  // namespace cairn::cuda
