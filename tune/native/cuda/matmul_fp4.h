// Parameters of matmul_fp4.cu.
#pragma once
#include "matmul.h"

namespace cairn::cuda {

// The first pair are E2M1 codes along k, in rows of a multiple of 64 without padding. Their lengths,
// distances and k[0] count groups of four codes, so that they are copied as numbers of 16 bits.
struct MatmulFp4 {
  Matmul of;
  // An E4M3 scale for each 16 codes, of a and of b.
  const uint8_t* scales[2];
  // Distance between rows of scales.
  int64_t scales_of_row;
};

}  // namespace cairn::cuda
