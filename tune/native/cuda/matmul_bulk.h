// Parameters of matmul_bulk.cu.
#pragma once
#include "matmul.h"

namespace cairn::cuda {

// A matrix in global memory and the box of it that a copy reads. The driver encodes it.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

struct BulkMatmul {
  TensorMap a[2], b[2];
  // Its addresses of operands, experts and stored weight are not used.
  Matmul product;
  // Blocks that share k divide it at multiples of this many numbers.
  int32_t split_depth;
};

}  // namespace cairn::cuda
