// The matmul of few rows; skinny.cc has it.
#pragma once
#include "gemm.h"

namespace cairn {

constexpr int64_t kSkinnyRows = 64;

namespace CAIRN_ISA {
bool is_skinny(const Gemm& g);
void skinny(const Call& call, const Gemm& g);
void skinny_rooms(const Gemm& g, Rooms& rooms);
}

}  // namespace cairn
