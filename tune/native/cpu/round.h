// Rounds a matmul's left operand to the grid of a small format, a stretch of one row at a time. Packing calls
// it before it writes bf16 words.
//
// Numbers are scaled, rounded and left on the grid. E4M3 and E5M2 have at most 4 significant bits, E2M1 times
// its E4M3 block scale 6, so bf16 holds every one of them and their products are exact in f32. The f32 sums
// are then divided by the scale of the whole tensor.
#pragma once
#include "philox.h"
#include "access.h"

namespace cairn {

struct Rounding {
  enum Format { none, e4m3, e5m2, nvfp4, nvfp4_stochastic } format = none;
  // The factor before rounding, and its inverse.
  float encode = 1, decode = 1;
  uint32_t seed[2] = {0, 0}, step = 0, stream = 0;
  // Index of the matrix's first element in the tensor, if the matrix is a range of its rows.
  int64_t first = 0;
};

namespace {

inline vf fabs(vf v) { return (vf)((vu)v & 0x7fffffff); }
inline vf with_sign(vf size, vf of) {
#if defined(__AVX512F__)
  return (vf)_mm512_ternarylogic_epi32(_mm512_set1_epi32(int(0x80000000)), (__m512i)of, (__m512i)size, 0xca);
#else
  return (vf)(((vu)size & 0x7fffffff) | ((vu)of & 0x80000000));
#endif
}

// To nearest, ties to even, saturating: keeps `mantissa` bits of numbers from 2^min_exponent on; below that,
// multiples of 2^(min_exponent - mantissa).
template <int mantissa, int min_exponent>
inline vf round_nearest(vf v, float max_value) {
  constexpr int drop = 23 - mantissa;
  const vf size = min(fabs(v), splat(max_value));
  const vu bits = (vu)size;
  const vf normal = (vf)((bits + ((1u << (drop - 1)) - 1) + ((bits >> drop) & 1)) & ~((1u << drop) - 1));
  // Adding and subtracting 1.5 · 2^23 units rounds to whole units.
  const vf magic = splat(1.5f * power_of_two(23 + min_exponent - mantissa));
  const vf below = (size + magic) - magic;
  return with_sign(size < power_of_two(min_exponent) ? below : normal, v);
}

inline vf round_e4m3(vf v) { return round_nearest<3, -6>(v, 448); }
inline vf round_e5m2(vf v) { return round_nearest<2, -14>(v, 57344); }
inline vf round_e2m1(vf v) { return round_nearest<1, 0>(v, 6); }

// Rounds up if the uniform number is below the fraction between two neighbours.
inline vf round_e2m1_stochastic(vf v, vf uniform) {
  const vf size = min(fabs(v), splat(8));
  const vu power = (vu)max(size, splat(1)) & 0x7f800000;
  const vf rung = size * (vf)(0x7f000000 - power) * 2.0f;
  const vf whole = __builtin_convertvector(__builtin_convertvector(rung, vi), vf);
  const vf up = uniform < rung - whole ? splat(1) : splat(0);
  return with_sign(min((whole + up) * (vf)power * 0.5f, splat(6)), v);
}

// Low and high words of a · b, lane by lane.
inline void multiply_wide(vu a, uint32_t b, vu& low, vu& high) {
  low = a * b;
#if defined(__AVX512F__)
  const __m512i factor = _mm512_set1_epi32(int(b)), even = _mm512_mul_epu32((__m512i)a, factor),
                odd = _mm512_mul_epu32(_mm512_srli_epi64((__m512i)a, 32), factor);
  high = (vu)_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
#elif defined(__AVX2__)
  const __m256i factor = _mm256_set1_epi32(int(b)), even = _mm256_mul_epu32((__m256i)a, factor),
                odd = _mm256_mul_epu32(_mm256_srli_epi64((__m256i)a, 32), factor);
  high = (vu)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
#else
  for (int i = 0; i < VL; i++) high[i] = uint32_t((uint64_t(a[i]) * b) >> 32);
#endif
}

// a0 b0 a1 b1 … of two vectors.
inline void interleave(vu& a, vu& b) {
  vi low, high;
  for (int i = 0; i < VL; i++) {
    low[i] = i / 2 + (i & 1) * VL;
    high[i] = VL / 2 + i / 2 + (i & 1) * VL;
  }
  const vu first = __builtin_shuffle(a, b, low), second = __builtin_shuffle(a, b, high);
  a = first;
  b = second;
}

// Uniform numbers in [0, 1) for 4 · VL elements from 4 · group on, as `uniform` in
// tune/ops/src/codecs/philox.ts.
inline void uniforms(const Rounding& r, int64_t group, float* out) {
  vu lane;
  for (int i = 0; i < VL; i++) lane[i] = uint32_t(i);
  vu c0 = lane + uint32_t(group),
     c1 = (vu{} + uint32_t(uint64_t(group) >> 32)) + ((vu)(c0 < uint32_t(group)) & 1), c2 = vu{} + r.stream,
     c3 = vu{} + r.step;
  uint32_t key0 = r.seed[0], key1 = r.seed[1];
  for (int round = 0; round < 10; round++) {
    vu low0, high0, low2, high2;
    multiply_wide(c0, 0xd2511f53, low0, high0);
    multiply_wide(c2, 0xcd9e8d57, low2, high2);
    c0 = high2 ^ c1 ^ key0;
    c2 = high0 ^ c3 ^ key1;
    c1 = low2;
    c3 = low0;
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  interleave(c0, c2);
  interleave(c1, c3);
  // c0 now interleaves words 0 and 2 of the first groups, c1 words 1 and 3. A second interleave puts the
  // words of a group side by side.
  interleave(c0, c1);
  interleave(c2, c3);
  const vu parts[4] = {c0, c1, c2, c3};
  for (int i = 0; i < 4; i++)
    store(out + i * VL, __builtin_convertvector((vi)(parts[i] >> 8), vf) * power_of_two(-24));
}

template <class Round>
inline void round_span(float* values, int64_t n, float encode, Round round) {
  int64_t i = 0;
  for (; i + VL <= n; i += VL) store(values + i, round(load(values + i) * encode));
  for (; i < n; i++) values[i] = round(splat(values[i] * encode))[0];
}

// Factors of a block's numbers before and after rounding, from the largest magnitude of each block, one block
// per lane.
inline void nvfp4_scales(const Rounding& r, vf amax, vf& factor, vf& scale) {
  const vf wanted = amax / 6.0f * r.encode, min_scale = splat(0.001953125f);
  scale = round_e4m3(wanted > min_scale ? wanted : min_scale);
  factor = r.encode / scale;
}

// VL whole blocks at a time, starting with that of element `first`. Their magnitudes are computed side by
// side.
template <bool stochastic>
inline int64_t round_nvfp4_blocks(const Rounding& r, int64_t first, int64_t n, float* values) {
  constexpr int64_t kBatch = kNvfp4Block * VL;
  if (stochastic && first % 4 != 0) return 0;
  int64_t done = 0;
  for (; done + kBatch <= n; done += kBatch) {
    float* v = values + done;
    vu rows[VL];
    for (int b = 0; b < VL; b++) {
      vf amax = fabs(load(v + b * kNvfp4Block));
      for (int64_t j = VL; j < kNvfp4Block; j += VL) amax = max(amax, fabs(load(v + b * kNvfp4Block + j)));
      rows[b] = (vu)amax;
    }
    transpose(rows);
    vf amax{}, factor, scale;
    for (int b = 0; b < VL; b++) amax = max(amax, (vf)rows[b]);
    nvfp4_scales(r, amax, factor, scale);
    alignas(64) float factors[VL], scales[VL], drawn[stochastic ? kBatch : 1];
    store(factors, factor);
    store(scales, scale);
    if constexpr (stochastic)
      for (int64_t at = 0; at < kBatch; at += 4 * VL) uniforms(r, (first + done + at) / 4, drawn + at);
    for (int64_t i = 0; i < kBatch; i += VL) {
      const int64_t b = i / kNvfp4Block;
      const vf scaled = load(v + i) * factors[b];
      if constexpr (stochastic) store(v + i, round_e2m1_stochastic(scaled, load(drawn + i)) * scales[b]);
      else store(v + i, round_e2m1(scaled) * scales[b]);
    }
  }
  return done;
}

// Elements of one row from index `first` on, which starts a block. The last block may be short.
template <bool stochastic>
inline void round_nvfp4(const Rounding& r, int64_t first, int64_t n, float* values) {
  constexpr int64_t kGroups = 4 * VL;
  alignas(64) float scratch[kGroups];
  int64_t drawn = 0, drawn_to = 0;  // tensor elements whose random numbers are in the scratch
  auto draw = [&](int64_t element) {
    drawn = element / 4 * 4;
    drawn_to = drawn + kGroups;
    uniforms(r, drawn / 4, scratch);
  };
  for (int64_t i = round_nvfp4_blocks<stochastic>(r, first, n, values); i < n; i += kNvfp4Block) {
    const int64_t live = min64(kNvfp4Block, n - i);
    alignas(64) float block[16] = {}, uniform[16];
    std::memcpy(block, values + i, size_t(live) * 4);
    vf amax{};
    for (int64_t j = 0; j < 16; j += VL) amax = max(amax, fabs(load(block + j)));
    vf factors, scales;
    nvfp4_scales(r, splat(max_lanes(amax)), factors, scales);
    const float factor = factors[0], scale = scales[0];
    if (stochastic) {
      const int64_t from = first + i;
      if (from % 4 == 0) {
        if (from + 16 > drawn_to) draw(from);
        std::memcpy(uniform, scratch + (from - drawn), sizeof uniform);
      } else {
        for (int64_t j = 0; j < 16; j++) {
          if (from + j >= drawn_to) draw(from + j);
          uniform[j] = scratch[from + j - drawn];
        }
      }
    }
    for (int64_t j = 0; j < 16; j += VL) {
      const vf v = load(block + j) * factor;
      store(block + j, (stochastic ? round_e2m1_stochastic(v, load(uniform + j)) : round_e2m1(v)) * scale);
    }
    std::memcpy(values + i, block, size_t(live) * 4);
  }
}

// Rounds elements of one row in place. `first` is the tensor index of the first of them.
inline void round_values(const Rounding& r, int64_t first, int64_t n, float* values) {
  switch (r.format) {
    case Rounding::e4m3:
      return round_span(values, n, r.encode, round_e4m3);
    case Rounding::e5m2:
      return round_span(values, n, r.encode, round_e5m2);
    case Rounding::nvfp4:
      return round_nvfp4<false>(r, first, n, values);
    case Rounding::nvfp4_stochastic:
      return round_nvfp4<true>(r, first, n, values);
    case Rounding::none:
      return;
  }
}

}  // namespace
}  // namespace cairn
