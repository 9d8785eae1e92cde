// Parameters of unpack.cu.
#pragma once
#include "matmul.h"

namespace cairn::cuda {

// The weight of a product as bf16, row by row. Of `matmul`, only the weight and whether it lacks its tensor's
// scale are used.
struct Unpack {
  Matmul matmul;
  uint16_t* to;
  int64_t runs;
};

}  // namespace cairn::cuda
