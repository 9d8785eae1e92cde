// Many matmuls of one kind with different sizes, as experts need (gemm_many.cc).
#pragma once
#include "gemm.h"

namespace cairn {

// `g` may point to `addend` and `bias`.
struct GemmTask {
  Gemm g;
  Tensor addend, bias;
};

// Upper bounds over all tasks: rows of a block of the left side, and k of both pairs.
struct GemmBounds {
  Arithmetic arithmetic;
  int64_t rows, k, k2;
};

// Scratch slot of the task list.
enum : int { kGemmTasks = 4 };

namespace CAIRN_ISA {
void gemm_many(const Call& call, const GemmTask* tasks, int64_t count);
void gemm_many_scratch(const GemmBounds& bounds, int64_t count, ScratchSizes& sizes);
}  // namespace CAIRN_ISA

}  // namespace cairn
