// The matmul of few rows with weights (n, k), k along each row; implemented in gemm_stream_nt.cc.
#pragma once
#include "gemm.h"

namespace cairn {

constexpr int64_t kStreamNtRows = 64;

namespace CAIRN_ISA {
bool streams_nt(const Gemm& g);
void gemm_stream_nt(const Call& call, const Gemm& g);
void gemm_stream_nt_scratch(const Gemm& g, ScratchSizes& sizes);
}  // namespace CAIRN_ISA

}  // namespace cairn
