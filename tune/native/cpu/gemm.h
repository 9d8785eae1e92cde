// The matmul that every op with a product of matrices calls; gemm.cc has the loops.
#pragma once
#include "decode.h"

namespace cairn {

// One side of a product.
struct Operand {
  Stored stored;
  // Row-major over k: rows of the operand are rows of what is stored. Otherwise k runs down the stored rows.
  bool k_in_row;
};

struct Pair {
  Operand a, b;
  int64_t k;
};

struct Gemm {
  int64_t m, n;
  // The second pair is there where its k is above 0; its products join the same sums.
  Pair pair[2];
  float alpha;
  Arithmetic arithmetic;
  const Tensor* addend;
  Tensor y;
  // What the first pair's sums are multiplied by before the second pair joins them: the tensor scales of
  // rounded operands.
  bool is_scaled = false;
  float scale = 1;
  // Added to each row of the result, where it is there.
  const Tensor* bias = nullptr;
  // Whether y and addend are transposed, (n, m); only for products of few rows.
  bool is_transposed = false;
};

// Slots of the scratch that gemm uses; what calls it takes others.
enum : int { kGemmA = 5, kGemmB = 6, kGemmSums = 7, kGemmTile = 7 };

namespace CAIRN_ISA {
void gemm(const Call& call, const Gemm& g);
// What it will ask for; looks at sizes and arithmetic only.
void gemm_scratch(const Gemm& g, ScratchSizes& sizes);
}  // namespace CAIRN_ISA

}  // namespace cairn
