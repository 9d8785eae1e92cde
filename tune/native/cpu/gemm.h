// The matmul behind every op with a matrix product; gemm.cc has the loops.
#pragma once
#include "decode.h"

namespace cairn {

// One side of a product.
struct Operand {
  Stored stored;
  // Rows of the operand are stored rows, so that k runs along them. Otherwise k runs down the stored rows.
  bool k_in_row;
};

struct Pair {
  Operand a, b;
  int64_t k;
};

struct Gemm {
  int64_t m, n;
  // The second pair exists if its k is above 0. Its products join the same sums.
  Pair pair[2];
  float alpha;
  Arithmetic arithmetic;
  const Tensor* addend;
  Tensor y;
  // The factor of the first pair's sums before the second pair joins them: the tensor scales of rounded
  // operands.
  bool is_scaled = false;
  float scale = 1;
  // Added to each row of the result, if not null.
  const Tensor* bias = nullptr;
  // Whether y and addend are transposed, (n, m). Only for products with few rows.
  bool is_transposed = false;
};

// Scratch slots of gemm. Its callers use others.
enum : int { kGemmA = 5, kGemmB = 6, kGemmSums = 7, kGemmTile = 7 };

namespace CAIRN_ISA {
void gemm(const Call& call, const Gemm& g);
// Counts gemm's scratch, from sizes and arithmetic only.
void gemm_scratch(const Gemm& g, ScratchSizes& sizes);
}  // namespace CAIRN_ISA

}  // namespace cairn
