// The matmul of few rows with weights of any layout; implemented in gemm_stream_packed.cc.
#pragma once
#include "gemm.h"

namespace cairn {

constexpr int64_t kStreamPackedRows = 64;

namespace CAIRN_ISA {
bool streams_packed(const Gemm& g);
void gemm_stream_packed(const Call& call, const Gemm& g);
void gemm_stream_packed_scratch(const Gemm& g, ScratchSizes& sizes);
}  // namespace CAIRN_ISA

}  // namespace cairn
