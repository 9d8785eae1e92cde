// Parameters of sample.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

struct Sample {
  const float* logits;
  const int32_t* forced;
  const float* choice;
  const int32_t* draw;
  const int32_t* edits;
  const float* edit_by;
  const int32_t* masked;
  const int32_t* mask;
  int32_t* token;
  float* logprob;
  int32_t* top_tokens;
  float* top_logprobs;
  // Edited logits and probabilities, both (rows, vocab).
  float* edited;
  float* probabilities;
  int32_t* fault;
  int64_t rows, vocab, edit_count, mask_count, mask_words;
  int32_t top;
  int32_t wrong_forced, wrong_edit, wrong_mask, empty_mask, padding;
};

}  // namespace cairn::cuda
