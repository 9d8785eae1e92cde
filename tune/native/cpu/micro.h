// The micro-kernel: a tile of MR rows and up to three vectors of columns, kept in registers during the loop
// over k.
//
// One step reads one word of each row of a, broadcasts it, and multiplies it with a row of b: 24
// multiply-adds for 11 loads with 32 registers.
#pragma once
#include "tiles.h"

namespace cairn {
namespace {

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kRegisterRows = 8;  // 32 vector registers
#else
constexpr int kRegisterRows = 4;  // 16 vector registers
#endif
// Rows of a strip and vectors of columns of a panel: the capacity of the registers, or two tiles by two.
constexpr int MR = kHasTiles ? 2 * kTileRows : kRegisterRows;
constexpr int kVectors = kHasTiles ? 2 : 3;
constexpr int NR = kVectors * VL;

template <bool pairs>
inline vf multiply_add(vf sum, uint32_t a, vu b) {
#if defined(__AVX512BF16__)
  if constexpr (pairs)
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(int(a)), (__m512bh)b);
#endif
  return fma(splat(float_of(a)), (vf)b, sum);
}

// c (R, nv·VL) = or += a·bᵀ over n words. Rows of c are ldc floats apart, words of b `stride` apart. a is
// packed in strips of `strip` rows or, if that is 0, read in place: rows `lda` words apart.
template <bool pairs, int nv, int strip, int R = kRegisterRows>
[[gnu::noinline]] void micro(int64_t n, const uint32_t* __restrict a, int64_t lda,
    const uint32_t* __restrict b, int64_t stride, float* __restrict c, int64_t ldc, bool add) {
  vf sum[R][nv];
#pragma GCC unroll 8
  for (int i = 0; i < R; i++)
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) sum[i][j] = add ? load(c + i * ldc + j * VL) : vf{};
  const uint32_t* from[R];
#pragma GCC unroll 8
  for (int i = 0; i < R; i++) from[i] = a + (strip ? i : i * lda);
  for (int64_t k = 0; k < n; k++, b += stride) {
    vu row[nv];
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) row[j] = load_as<vu>(b + j * VL);
#pragma GCC unroll 8
    for (int i = 0; i < R; i++)
#pragma GCC unroll 3
      for (int j = 0; j < nv; j++)
        sum[i][j] = multiply_add<pairs>(sum[i][j], strip ? a[k * strip + i] : from[i][k], row[j]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; i++)
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) store(c + i * ldc + j * VL, sum[i][j]);
}

// The first `rows` rows of a strip of kRegisterRows, in twos. Experts have few rows, so that their last strip
// is a tenth of their work or more.
template <bool pairs, int nv, int strip>
inline void micro_rows(int64_t rows, int64_t n, const uint32_t* a, const uint32_t* b, int64_t stride,
    float* c, int64_t ldc, bool add) {
  if constexpr (kRegisterRows == 8) {
    if (rows <= 2) return micro<pairs, nv, strip, 2>(n, a, 0, b, stride, c, ldc, add);
    if (rows <= 4) return micro<pairs, nv, strip, 4>(n, a, 0, b, stride, c, ldc, add);
    if (rows <= 6) return micro<pairs, nv, strip, 6>(n, a, 0, b, stride, c, ldc, add);
  }
  micro<pairs, nv, strip>(n, a, 0, b, stride, c, ldc, add);
}

// `rows` rows, at most kRegisterRows, of strips of as many or of a strip of `strip`; it may compute more.
template <int strip = kRegisterRows>
inline void run_registers(bool pairs, int64_t rows, int nv, int64_t n, const uint32_t* a, const uint32_t* b,
    int64_t stride, float* c, int64_t ldc, bool add) {
  if (pairs && kHasBf16Dot) {
    if (nv == 3) return micro_rows<kHasBf16Dot, 3, strip>(rows, n, a, b, stride, c, ldc, add);
    if (nv == 2) return micro_rows<kHasBf16Dot, 2, strip>(rows, n, a, b, stride, c, ldc, add);
    return micro_rows<kHasBf16Dot, 1, strip>(rows, n, a, b, stride, c, ldc, add);
  }
  if (nv == 3) return micro_rows<false, 3, strip>(rows, n, a, b, stride, c, ldc, add);
  if (nv == 2) return micro_rows<false, 2, strip>(rows, n, a, b, stride, c, ldc, add);
  return micro_rows<false, 1, strip>(rows, n, a, b, stride, c, ldc, add);
}

// A strip of which `rows` rows are needed; it may compute more.
inline void run_micro(bool pairs, int64_t rows, int nv, int64_t n, const uint32_t* a, const uint32_t* b,
    int64_t stride, float* c, int64_t ldc, bool add) {
#if defined(__AMX_BF16__)
  if (pairs)
    return run_tiles(rows, nv, n, {a, kTileWords, MR * kTileWords, kTileRows * kTileWords}, {b, stride, VL},
        c, ldc, add, [] {});
#endif
  for (int64_t i = 0; i < min64(rows, MR); i += kRegisterRows)
    run_registers<MR>(pairs, rows - i, nv, n, a + i, b, stride, c + i * ldc, ldc, add);
}

// The same with words of a in place, which only bf16 pairs support.
inline void run_micro_in_place(int nv, int64_t n, const uint32_t* a, int64_t lda, const uint32_t* b,
    int64_t stride, float* c, int64_t ldc, bool add) {
#if defined(__AMX_BF16__)
  return run_tiles(MR, nv, n, {a, lda, kTileWords, kTileRows * lda}, {b, stride, VL}, c, ldc, add, [] {});
#else
  if (nv == 3) return micro<kHasBf16Dot, 3, 0>(n, a, lda, b, stride, c, ldc, add);
  if (nv == 2) return micro<kHasBf16Dot, 2, 0>(n, a, lda, b, stride, c, ldc, add);
  return micro<kHasBf16Dot, 1, 0>(n, a, lda, b, stride, c, ldc, add);
#endif
}

// Rows that packing of a writes for `rows`: packing works in whole vectors, and panels must be whole too.
inline int64_t padded_rows(int64_t rows) {
  constexpr int64_t unit = MR > VL ? MR : VL;
  return ceil_div(rows, unit) * unit;
}

}  // namespace
}  // namespace cairn
