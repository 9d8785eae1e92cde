// Parameters of matmul.cu and matmul_stored.cu.
#pragma once
#include <cstdint>

#include "ops.h"
#include "stored.h"

namespace cairn::cuda {

// How the left operand was rounded, by the largest magnitude of its whole tensor.
enum class Grid : int32_t { none, e4m3, e5m2, nvfp4, nvfp4_stochastic };

// y = alpha · (scale · a·b + a2·b2) + bias + addend.
//
// Operands are bf16 with rows of a multiple of eight numbers that start at a multiple of 16 bytes; numbers
// past the end of a row are zeros, or there are none. The first b may be a stored weight instead.
struct Matmul {
  const uint16_t* a[2];
  const uint16_t* b[2];
  // Numbers from a row to the next.
  int64_t lda[2], ldb[2];
  Stored weight;
  int32_t m, n;
  // Along which sums run; the second is 0 where there is no second pair.
  int32_t k[2];
  // Where products are of experts, rows [ends[e − 1], ends[e]) of a are multiplied with matrix e of b, b2 and
  // bias. In matmul_tn these are the rows that sums run along, and matrix e of y is theirs.
  const int32_t* ends;
  int32_t experts;
  // Steps of k are shared out over so many blocks; above 1, sums go to `partial` (splits, m, n).
  int32_t splits;
  // Numbers from a matrix of b to the next, and bytes from one of `weight` to the next.
  int64_t b_next[2], weight_next;
  float* partial;
  // Rows of a from *live_rows − first_row on count for nothing, where it is there.
  const int32_t* live_rows;
  int32_t first_row;
  Grid grid;
  const float* a_amax;
  // The scale of the stored weight, where its numbers are without.
  const void* tensor_scale;
  float alpha;
  int32_t padding0;
  const void* bias;
  const void* addend;
  void* y;
  Dtype bias_dtype, addend_dtype, y_dtype;
  int32_t padding;
};

}  // namespace cairn::cuda
