// Many products of one kind but different sizes, as experts have them; gemm_many.cc has it.
#pragma once
#include "gemm.h"

namespace cairn {

// One of them; `g` may point at what is beside it.
struct GemmTask {
  Gemm g;
  Tensor addend, bias;
};

// The most that one of them has: rows of a block of the left side, and k of both pairs.
struct GemmBounds {
  Arithmetic arithmetic;
  int64_t rows, k, k2;
};

// Slot of the scratch that the list of products is kept in.
enum : int { kGemmTasks = 4 };

namespace CAIRN_ISA {
void gemm_many(const Call& call, const GemmTask* tasks, int64_t count);
void gemm_many_scratch(const GemmBounds& bounds, int64_t count, ScratchSizes& sizes);
}  // namespace CAIRN_ISA

}  // namespace cairn
