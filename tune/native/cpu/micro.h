// The micro-kernel: a tile of MR rows and up to three vectors of columns, kept in registers while k runs.
//
// One step reads one word of each row of a, spreads it, and multiplies it with a row of b: 24 multiply-adds
// for 11 loads with 32 registers.
#pragma once
#include "pack.h"

namespace cairn {
namespace {

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int MR = 8;  // 32 vector registers
#else
constexpr int MR = 4;  // 16 vector registers
#endif
constexpr int kVectors = 3;
constexpr int NR = kVectors * VL;

template <bool pairs>
inline vf multiply_add(vf sum, uint32_t a, vu b) {
#if defined(__AVX512BF16__)
  if constexpr (pairs)
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(int(a)), (__m512bh)b);
#endif
  return fma(splat(float_of(a)), (vf)b, sum);
}

// c (MR, nv·VL) = or += a·bᵀ over n words; rows of c are ldc floats apart, words of b `stride` apart. a is
// packed, or read in place: MR rows, `lda` words apart.
template <bool pairs, int nv, bool lies>
[[gnu::noinline]] void micro(int64_t n, const uint32_t* __restrict a, int64_t lda,
    const uint32_t* __restrict b, int64_t stride, float* __restrict c, int64_t ldc, bool add) {
  vf sum[MR][nv];
#pragma GCC unroll 8
  for (int i = 0; i < MR; i++)
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) sum[i][j] = add ? load(c + i * ldc + j * VL) : vf{};
  const uint32_t* from[MR];
#pragma GCC unroll 8
  for (int i = 0; i < MR; i++) from[i] = a + (lies ? i * lda : i);
  for (int64_t k = 0; k < n; k++, b += stride) {
    vu row[nv];
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) row[j] = load_as<vu>(b + j * VL);
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 3
      for (int j = 0; j < nv; j++)
        sum[i][j] = multiply_add<pairs>(sum[i][j], lies ? from[i][k] : a[k * MR + i], row[j]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < MR; i++)
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) store(c + i * ldc + j * VL, sum[i][j]);
}

inline void run_micro(bool pairs, int nv, int64_t n, const uint32_t* a, const uint32_t* b, int64_t stride,
    float* c, int64_t ldc, bool add) {
  if (pairs && kHasBf16Dot) {
    if (nv == 3) return micro<kHasBf16Dot, 3, false>(n, a, 0, b, stride, c, ldc, add);
    if (nv == 2) return micro<kHasBf16Dot, 2, false>(n, a, 0, b, stride, c, ldc, add);
    return micro<kHasBf16Dot, 1, false>(n, a, 0, b, stride, c, ldc, add);
  }
  if (nv == 3) return micro<false, 3, false>(n, a, 0, b, stride, c, ldc, add);
  if (nv == 2) return micro<false, 2, false>(n, a, 0, b, stride, c, ldc, add);
  return micro<false, 1, false>(n, a, 0, b, stride, c, ldc, add);
}

// The same with words of a in place, which only pairs of bf16 do.
inline void run_micro_in_place(int nv, int64_t n, const uint32_t* a, int64_t lda, const uint32_t* b,
    int64_t stride, float* c, int64_t ldc, bool add) {
  if (nv == 3) return micro<kHasBf16Dot, 3, true>(n, a, lda, b, stride, c, ldc, add);
  if (nv == 2) return micro<kHasBf16Dot, 2, true>(n, a, lda, b, stride, c, ldc, add);
  return micro<kHasBf16Dot, 1, true>(n, a, lda, b, stride, c, ldc, add);
}

// Rows that packing of a writes for `rows`: it works in whole vectors, and panels must be whole too.
inline int64_t padded_rows(int64_t rows) {
  constexpr int64_t unit = MR > VL ? MR : VL;
  return ceil_div(rows, unit) * unit;
}

}  // namespace
}  // namespace cairn
