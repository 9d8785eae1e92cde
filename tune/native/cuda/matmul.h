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
// Operands are bf16. Their rows are a multiple of eight numbers and start at a multiple of 16 bytes. Any
// numbers past the end of a row are zeros. The first b may be a stored weight instead.
struct Matmul {
  const uint16_t* a[2];
  const uint16_t* b[2];
  // Distance between rows, in numbers.
  int64_t lda[2], ldb[2];
  Stored weight;
  int32_t m, n;
  // Length of the sums. The second is 0 if there is no second pair.
  int32_t k[2];
  // For products of experts, rows [ends[e − 1], ends[e]) of a are multiplied with matrix e of b, b2 and bias.
  // In matmul_tn the sums run along these rows, and give matrix e of y.
  const int32_t* ends;
  int32_t experts;
  // Number of blocks that share the steps of k. Above 1, sums go to `partial` (splits, m, n), and `arrived`
  // has a zero for each tile of the result.
  int32_t splits;
  // Distances between matrices: of b in numbers, of `weight` in bytes.
  int64_t b_next[2], weight_next;
  float* partial;
  uint32_t* arrived;
  // If not null, rows of a from *live_rows − first_row on are ignored.
  const int32_t* live_rows;
  int32_t first_row;
  Grid grid;
  const float* a_amax;
  // The scale of the stored weight, if its numbers lack it.
  const void* tensor_scale;
  float alpha;
  int32_t padding0;
  const void* bias;
  const void* addend;
  void* y;
  // For products named swiglu_grad, whose result is the gradient of gate · σ(gate) · up: y gets the gradient
  // of gate, `dup` that of up. All are bf16, and n is even.
  const uint16_t* gate;
  const uint16_t* up;
  uint16_t* dup;
  Dtype bias_dtype, addend_dtype, y_dtype;
  int32_t padding;
};

}  // namespace cairn::cuda
