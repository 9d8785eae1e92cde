// Parameters of codes.cu.
#pragma once
#include "matmul.h"

namespace cairn::cuda {

// A rounded left operand as fp8 codes: rows of `stride`, a multiple of sixteen, padded with zeros.
struct RoundCodes {
  const void* x;
  uint8_t* to;
  const float* a_amax;
  int64_t rows, columns, stride;
  Dtype dtype;
  Grid grid;
};

// A left operand rounded to NVFP4: blocks of sixteen neighbours of a row, whose length is a multiple of
// sixteen.
struct RoundBlocks {
  const void* x;
  // Two codes a byte, the first in the lower half, and a scale for each block.
  uint8_t *codes, *scales;
  const float* a_amax;
  int64_t blocks;
  Dtype dtype;
  int32_t padding;
};

// Codes of a stored weight with rows of `columns`, a multiple of sixteen, as columns: rows of `stride`,
// padded with zeros.
struct TransposeCodes {
  const uint8_t* from;
  uint8_t* to;
  int32_t rows, columns;
  int64_t stride;
};

}  // namespace cairn::cuda
