// Vectors of the current instruction set: VL floats, in the compiler's own vector types, so that one source
// serves every machine.
#pragma once
#include <cstdint>
#include <cstring>

#include "codecs.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace cairn {
namespace {

#if defined(__AVX512F__)
constexpr int VL = 16;
#elif defined(__AVX2__)
constexpr int VL = 8;
#else
constexpr int VL = 4;
#endif

typedef float vf __attribute__((vector_size(VL * 4)));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef uint32_t vu __attribute__((vector_size(VL * 4)));
typedef uint16_t vh __attribute__((vector_size(VL * 2)));
typedef uint8_t vb __attribute__((vector_size(VL)));

template <class V, class T>
inline V load_as(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class V, class T>
inline void store_as(T* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

inline vf splat(float x) { return vf{} + x; }

// Rounded once, if the machine supports it.
inline vf fma(vf a, vf b, vf c) {
#if defined(__AVX512F__)
  return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
  return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
  return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

inline vf load(const float* p) { return load_as<vf>(p); }
inline void store(float* p, vf v) { store_as(p, v); }

inline vf widen(vh codes) { return (vf)(__builtin_convertvector(codes, vu) << 16); }

// Nearest bf16, ties to even. A NaN stays a NaN. Like encode_bf16.
inline vu round_bf16_bits(vf v) {
  vu u = (vu)v;
  vu rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
#if defined(__AVX512F__)
  const __mmask16 nan = _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
  return (vu)_mm512_mask_or_epi32((__m512i)rounded, nan, (__m512i)(u >> 16), (__m512i)(vu{} + 0x40));
#else
  vu nan = (u >> 16) | 0x40;
  vi is_nan = (u & 0x7fffffff) > 0x7f800000;
  return ((vu)is_nan & nan) | (~(vu)is_nan & rounded);
#endif
}
inline vf round_bf16(vf v) { return (vf)(round_bf16_bits(v) << 16); }

// The same, but subnormal numbers may become zero, as in the dot instruction.
inline vu round_normal_bits(vf v) {
#if defined(__AVX512BF16__)
  return (vu)_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)v));
#else
  return round_bf16_bits(v);
#endif
}

inline vf load(const bf16* p) { return widen(load_as<vh>(p)); }
inline void store(bf16* p, vf v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16((__m512i)round_bf16_bits(v)));
#else
  store_as(p, __builtin_convertvector(round_bf16_bits(v), vh));
#endif
}

// The same for numbers whose subnormals may become zero.
inline void store_normal(bf16* p, vf v) {
#if defined(__AVX512BF16__)
  _mm256_storeu_si256((__m256i*)p, (__m256i)_mm512_cvtneps_pbh((__m512)v));
#else
  store(p, v);
#endif
}

inline vf min(vf a, vf b) {
#if defined(__AVX512F__)
  return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#else
  return a < b ? a : b;
#endif
}

inline vf max(vf a, vf b) {
#if defined(__AVX512F__)
  return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#else
  return a > b ? a : b;
#endif
}

// The lane `distance` above each lane, wrapping around at the end.
template <int distance>
inline vf shifted(vf v) {
  vi from;
  for (int lane = 0; lane < VL; lane++) from[lane] = (lane + distance) % VL;
  return __builtin_shuffle(v, from);
}

template <int width = VL / 2>
inline float sum_lanes(vf v) {
  if constexpr (width == 0) return v[0];
  else return sum_lanes<width / 2>(v + shifted<width>(v));
}

template <int width = VL / 2>
inline float max_lanes(vf v) {
  if constexpr (width == 0) return v[0];
  else return max_lanes<width / 2>(max(v, shifted<width>(v)));
}

// e to the x within 2 units in the last place. 0 below -87, where results would be subnormal.
inline vf exp(vf x) {
  const vf magic = splat(12582912.0f);  // 1.5 · 2^23: adding it rounds to an integer
#if defined(__AVX512F__)
  const vf clamped = (vf)_mm512_max_ps(_mm512_min_ps((__m512)x, (__m512)splat(88.0f)), (__m512)splat(-87.0f));
#else
  vf clamped = x < 88.0f ? x : splat(88.0f);
  clamped = clamped > -87.0f ? clamped : splat(-87.0f);
#endif
  vf n = fma(clamped, splat(1.44269504088896341f), magic) - magic;
  vf r = fma(n, splat(-0.693145751953125f), clamped);
  r = fma(n, splat(-1.42860682030941723e-6f), r);
  vf p = splat(1.9875691500e-4f);
  p = fma(p, r, splat(1.3981999507e-3f));
  p = fma(p, r, splat(8.3334519073e-3f));
  p = fma(p, r, splat(4.1665795894e-2f));
  p = fma(p, r, splat(1.6666665459e-1f));
  p = fma(p, r, splat(5.0000001201e-1f));
  p = fma(p, r * r, r + 1.0f);
#if defined(__AVX512F__)
  return (vf)_mm512_maskz_scalef_ps(
      _mm512_cmp_ps_mask((__m512)x, (__m512)splat(-87.0f), _CMP_NLT_UQ), (__m512)p, (__m512)n);
#endif
  vi exponent = __builtin_convertvector(n, vi) << 23;
  vf result = (vf)((vi)p + exponent);
  return x < -87.0f ? splat(0) : result;
}

// The hyperbolic tangent within 3e-7 of its value: by its series where exp would cancel.
inline vf tanh(vf x) {
  const vf square = x * x;
  vf p = splat(-5.3968254e-2f);
  p = fma(p, square, splat(1.3333333e-1f));
  p = fma(p, square, splat(-3.3333333e-1f));
  const vf near = fma(p * square, x, x), far = 1.0f - 2.0f / (exp(x + x) + 1.0f);
  return square < 0.04f ? near : far;
}

constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

// 2 to the x. 0 below -126, where results would be subnormal. The relative error is at most 2.7e-6 if
// `coarse`, which is negligible compared to the rounding to bf16 that follows, otherwise 1e-7.
template <bool coarse>
inline vf exp2(vf x) {
#if defined(__AVX512F__)
  const vf n = (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), r = x - n;
#else
  const vf magic = splat(12582912.0f);  // as in exp
  vf clamped = x < 127.0f ? x : splat(127.0f);
  clamped = clamped > -126.0f ? clamped : splat(-126.0f);
  const vf n = (clamped + magic) - magic, r = clamped - n;
#endif
  vf p;
  if constexpr (coarse) {
    p = splat(9.57010221e-3f);
    p = fma(p, r, splat(5.59178591e-2f));
    p = fma(p, r, splat(2.40247443e-1f));
    p = fma(p, r, splat(6.93121791e-1f));
    p = fma(p, r, splat(9.99999285e-1f));
  } else {
    p = splat(1.53458124e-4f);
    p = fma(p, r, splat(1.33999309e-3f));
    p = fma(p, r, splat(9.61848907e-3f));
    p = fma(p, r, splat(5.55032864e-2f));
    p = fma(p, r, splat(2.40226462e-1f));
    p = fma(p, r, splat(6.93147182e-1f));
    p = fma(p, r, splat(1.0f));
  }
#if defined(__AVX512F__)
  // NaN stays NaN. Minus infinity, whose remainder is NaN, gives 0.
  return (vf)_mm512_maskz_scalef_ps(
      _mm512_cmp_ps_mask((__m512)x, (__m512)splat(-126.0f), _CMP_NLT_UQ), (__m512)p, (__m512)n);
#else
  const vi exponent = __builtin_convertvector(n, vi) << 23;
  const vf result = (vf)((vi)p + exponent);
  return x < -126.0f ? splat(0) : result;
#endif
}

template <int d>
inline void transpose_stage(vu* r) {
  vi keep, move;
  for (int l = 0; l < VL; l++) {
    keep[l] = (l & d) ? VL + l - d : l;
    move[l] = (l & d) ? VL + l : l + d;
  }
#pragma GCC unroll 16
  for (int i = 0; i < VL; i++) {
    if (i & d) continue;
    const vu a = r[i], b = r[i + d];
    r[i] = __builtin_shuffle(a, b, keep);
    r[i + d] = __builtin_shuffle(a, b, move);
  }
  if constexpr (d > 1) transpose_stage<d / 2>(r);
}

// Transposes VL rows of VL words into VL columns.
inline void transpose(vu* r) { transpose_stage<VL / 2>(r); }

}  // namespace
}  // namespace cairn
