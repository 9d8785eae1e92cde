// The matmul of few rows with weights whose rows lie along k; few_rows.cc has it.
#pragma once
#include "gemm.h"

namespace cairn {

constexpr int64_t kFewRows = 64;

namespace CAIRN_ISA {
bool has_few_rows(const Gemm& g);
void few_rows(const Call& call, const Gemm& g);
void few_rows_rooms(const Gemm& g, Rooms& rooms);
}

}  // namespace cairn
