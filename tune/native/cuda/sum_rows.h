// Output of wgmma sums by rows: through shared memory, so that a warp's access fills whole sectors of a row.
#pragma once
#include "activations.h"
#include "work.h"

namespace cairn::cuda {

// Columns that a warp passes through its shared memory at a time, and the numbers that this takes.
constexpr int kPartN = 64, kRowSpace = 16 * kPartN;

// Runs body(row, column, sum, sum of the next column) for a warp's sums of 16 rows, each from 0 on, in `rows`
// and `columns`. `space` is the warp's.
template <int blocks, class Body>
__device__ inline void over_sum_rows(
    float (&sums)[blocks][16][4], int rows, int columns, float* space, Body body) {
  const int lane = int(threadIdx.x) % kWarp, own = lane / 4;
#pragma unroll
  for (int part = 0; part < blocks * 2; part++) {
    // The index of each group of eight numbers is XORed with the row, so that rows are in different banks.
#pragma unroll
    for (int j = 0; j < kPartN / 8; j++) {
      const float(&from)[4] = sums[part / 2][part % 2 * 8 + j];
      float* const to = space + own * kPartN + ((j ^ own) * 8 + lane % 4 * 2);
      *reinterpret_cast<float2*>(to) = make_float2(from[0], from[1]);
      *reinterpret_cast<float2*>(to + 8 * kPartN) = make_float2(from[2], from[3]);
    }
    __syncwarp();
    const int column = part * kPartN + lane * 2;
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
      if (i >= rows || column >= columns) break;
      const float2 two = *reinterpret_cast<float2*>(space + i * kPartN + (lane * 2 ^ i % 8 * 8));
      body(i, column, two.x, two.y);
    }
    __syncwarp();
  }
}

// Elements (row, column) and (row, column + 1) of the gradients of gate and up, from sums that are those of
// their unit. The sums are rounded first, as the product alone rounds them.
__device__ inline void finish_swiglu_grad(
    const Matmul& p, int64_t row, int column, float first, float second) {
  const int64_t at = (row * p.n + column) / 2;
  const uint32_t dy = pack_bf16(p.alpha * first, p.alpha * second),
                 gate = reinterpret_cast<const uint32_t*>(p.gate)[at],
                 up = reinterpret_cast<const uint32_t*>(p.up)[at];
  uint32_t dgate = 0, dup = 0;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float d = decode_bf16(uint16_t(dy >> i * 16)), g = decode_bf16(uint16_t(gate >> i * 16)),
                u = decode_bf16(uint16_t(up >> i * 16));
    dgate |= uint32_t(encode_bf16(d * u * Silu::slope(g))) << i * 16;
    dup |= uint32_t(encode_bf16(d * Silu::value(g))) << i * 16;
  }
  reinterpret_cast<uint32_t*>(p.y)[at] = dgate;
  reinterpret_cast<uint32_t*>(p.dup)[at] = dup;
}

}  // namespace cairn::cuda
