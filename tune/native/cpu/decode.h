// Decodes stored weights to floats, a stretch of one row at a time. Packing calls it, so that no decoded
// matrix is ever in memory.
#pragma once
#include "access.h"
#include "layout.h"
#include "round.h"

namespace cairn {

// A stored matrix: row-major with `columns` per row.
struct Stored {
  Dtype dtype;
  int64_t columns;
  const char* part[5];
  // Leaves out the scale of the whole tensor, so that the numbers are exact in bf16.
  bool without_tensor_scale = false;
  // Rounds to a grid after decoding. Only for operands whose k runs along the row.
  Rounding rounding{};
};

namespace {

inline Stored stored_of(const Tensor& t) {
  const int64_t rows = t.rank > 0 ? t.dims[0] : 1, columns = t.rank > 1 ? t.dims[1] : t.count;
  const Layout layout = layout_of(t.dtype, t.count, rows, columns);
  Stored s{t.dtype, columns, {}};
  for (int i = 0; i < 5; i++) s.part[i] = t.data + layout.offset[i];
  return s;
}

// Matrix `index` of a tensor (matrices, rows, columns).
inline Tensor matrix_of(const Tensor& t, int64_t index) {
  Tensor m{t.dtype, 2, {t.dims[1], t.dims[2]}, t.dims[1] * t.dims[2], t.data};
  if (t.data) m.data += index * matrix_stride(t.dtype, t.dims[1], t.dims[2]);
  return m;
}

// Rows [first, first + count) of a matrix of floats.
inline Tensor rows_of(const Tensor& t, int64_t first, int64_t count) {
  Tensor m{t.dtype, 2, {count, t.dims[1]}, count * t.dims[1], t.data};
  if (t.data) m.data += size_t(first * t.dims[1]) * element_size(t.dtype);
  return m;
}

// A plain matrix inside a larger buffer.
inline Stored plain(const void* data, Dtype dtype, int64_t columns) {
  return {dtype, columns, {static_cast<const char*>(data)}};
}

// E4M3 codes to floats: shifts the fields into place. Subnormals lack the hidden bit, which a subtraction
// corrects.
inline vf decode_e4m3(vu code) {
  const vu magnitude = code & 0x7f, sign = (code & 0x80) << 24;
  const vf normal = (vf)((magnitude << 20) + (120u << 23));
  const vf subnormal = (normal - 0.0078125f) * 2.0f;
  vu bits = (vu)(magnitude < 8 ? subnormal : normal);
  bits = magnitude == 0x7f ? vu{} + 0x7fc00000 : bits;
  return (vf)(bits | sign);
}

// The bits of every E4M3 code's number.
struct E4m3Numbers {
  uint32_t bits[256]{};
  constexpr E4m3Numbers() {
    for (uint32_t code = 0; code < 256; code++) {
      const uint32_t exponent = code >> 3 & 15, mantissa = code & 7;
      // A subnormal number's leading bit becomes the hidden one.
      const uint32_t lead = mantissa >= 4 ? 2 : mantissa >= 2 ? 1 : 0;
      uint32_t size = 0;
      if ((code & 0x7f) == 0x7f) size = 0x7fc00000;
      else if (exponent > 0) size = (exponent + 120) << 23 | mantissa << 20;
      else if (mantissa > 0) size = (lead + 118) << 23 | (mantissa - (1u << lead)) << (23 - lead);
      bits[code] = (code & 0x80) << 24 | size;
    }
  }
};
constexpr E4m3Numbers kE4m3Numbers;

inline float decode_e4m3_one(uint8_t code) { return float_of(kE4m3Numbers.bits[code]); }

// Decodes sixteen 4-bit codes from eight bytes, by a table of sixteen floats times one scale. `high_first`
// says which nibble comes first.
template <bool high_first>
inline void decode_nibbles(const uint8_t* bytes, const float* table, float block, float tensor, float* out) {
#if defined(__AVX2__)
  // The interleave puts the nibbles of a byte side by side; each becomes the index of a lane.
  const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)), mask = _mm_set1_epi8(15);
  const __m128i low = _mm_and_si128(pairs, mask), high = _mm_and_si128(_mm_srli_epi16(pairs, 4), mask);
  const __m128i codes = high_first ? _mm_unpacklo_epi8(high, low) : _mm_unpacklo_epi8(low, high);
#if defined(__AVX512F__)
  store(out, (vf)_mm512_permutexvar_ps(_mm512_cvtepu8_epi32(codes), _mm512_loadu_ps(table)) * block * tensor);
#else
  for (int at = 0; at < 16; at += 8) {
    const __m256i index = _mm256_cvtepu8_epi32(at ? _mm_srli_si128(codes, 8) : codes);
    const __m256 first = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), index),
                 second = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), index);
    // Bit 3 of the code, moved to the sign, selects the half of the table.
    store(out + at, (vf)_mm256_blendv_ps(first, second, _mm256_castsi256_ps(_mm256_slli_epi32(index, 28))) *
                        block * tensor);
  }
#endif
#else
  for (int i = 0; i < 16; i++) {
    const int shift = ((i & 1) ^ (high_first ? 1 : 0)) * 4;
    out[i] = table[(bytes[i / 2] >> shift) & 15] * block * tensor;
  }
#endif
}

// The words of a row of a bf16_vnni matrix, kVnniRows apart.
inline const uint32_t* vnni_row(const Stored& s, int64_t row) {
  return reinterpret_cast<const uint32_t*>(s.part[0]) + row / kVnniRows * kVnniRows * (s.columns / 2) +
         row % kVnniRows;
}

// The f32 scale of the whole tensor, or 1 if the dtype has none.
inline float tensor_scale_of(const Stored& s) {
  if (s.dtype != Dtype::fp8_tensor && s.dtype != Dtype::nvfp4) return 1;
  float scale;
  std::memcpy(&scale, s.part[s.dtype == Dtype::nvfp4 ? 2 : 1], 4);
  return scale;
}

// Elements [from, to) of a row. 4-bit dtypes decode in units of sixteen, so `from` and `to` must be multiples
// of 16.
inline void decode_floats(const Stored& s, int64_t row, int64_t from, int64_t to, float* out) {
  const int64_t at = row * s.columns + from, n = to - from;
  const uint8_t* codes = reinterpret_cast<const uint8_t*>(s.part[0]);
  switch (s.dtype) {
    case Dtype::f32:
      std::memcpy(out, s.part[0] + at * 4, size_t(n) * 4);
      return;
    case Dtype::bf16: {
      const bf16* in = reinterpret_cast<const bf16*>(s.part[0]) + at;
      int64_t i = 0;
      for (; i + VL <= n; i += VL) store(out + i, load(in + i));
      for (; i < n; i++) out[i] = decode_bf16(in[i].bits);
      return;
    }
    case Dtype::bf16_vnni: {
      const uint32_t* words = vnni_row(s, row);
      for (int64_t i = 0; i < n; i++) {
        const uint32_t word = words[(from + i) / 2 * kVnniRows];
        out[i] = float_of((from + i) % 2 ? word & 0xffff0000 : word << 16);
      }
      return;
    }
    case Dtype::fp8_tiles: {
      const float* scales =
          reinterpret_cast<const float*>(s.part[1]) + row / kFp8Tile * ceil_div(s.columns, kFp8Tile);
      for (int64_t i = 0; i < n;) {
        const int64_t tile = (from + i) / kFp8Tile, end = min64(n, (tile + 1) * kFp8Tile - from);
        const vf scale = splat(scales[tile]);
        for (; i + VL <= end; i += VL)
          store(out + i, decode_e4m3(__builtin_convertvector(load_as<vb>(codes + at + i), vu)) * scale);
        for (; i < end; i++) out[i] = decode_e4m3_one(codes[at + i]) * scale[0];
      }
      return;
    }
    case Dtype::fp8_tensor: {
      const vf scale = splat(s.without_tensor_scale ? 1.0f : tensor_scale_of(s));
      int64_t i = 0;
      for (; i + VL <= n; i += VL)
        store(out + i, decode_e4m3(__builtin_convertvector(load_as<vb>(codes + at + i), vu)) * scale);
      for (; i < n; i++) out[i] = decode_e4m3_one(codes[at + i]) * scale[0];
      return;
    }
    case Dtype::nvfp4: {
      const uint8_t* scales = reinterpret_cast<const uint8_t*>(s.part[1]);
      const float tensor = s.without_tensor_scale ? 1.0f : tensor_scale_of(s);
      for (int64_t i = 0; i < n; i += 16)
        decode_nibbles<false>(codes + (at + i) / 2, kE2m1Table,
            decode_e4m3_one(scales[(at + i) / kNvfp4Block]), tensor, out + i);
      return;
    }
    case Dtype::mxfp4: {
      const uint8_t* scales = reinterpret_cast<const uint8_t*>(s.part[1]);
      for (int64_t i = 0; i < n; i += 16)
        decode_nibbles<false>(
            codes + (at + i) / 2, kE2m1Table, decode_e8m0(scales[(at + i) / kMxfp4Block]), 1.0f, out + i);
      return;
    }
    case Dtype::nf4: {
      const uint8_t* scale_codes = reinterpret_cast<const uint8_t*>(s.part[1]);
      const float *groups = reinterpret_cast<const float*>(s.part[2]),
                  *map = reinterpret_cast<const float*>(s.part[4]);
      float offset;
      std::memcpy(&offset, s.part[3], 4);
      for (int64_t i = 0; i < n;) {
        const int64_t block = (at + i) / kNf4Block, end = min64(n, (block + 1) * kNf4Block - at);
        const float scale = map[scale_codes[block]] * groups[block / kNf4Group] + offset;
        // A block has four sixteens and one scale, so sixteen products serve them all.
        float scaled[16];
        for (int code = 0; code < 16; code++) scaled[code] = kNf4Table[code] * scale;
        for (; i < end; i += 16) decode_nibbles<true>(codes + (at + i) / 2, scaled, 1.0f, 1.0f, out + i);
      }
      return;
    }
    case Dtype::dynamic8:
    case Dtype::dynamic8_unsigned:
    case Dtype::i32:
      return;
  }
}

// Whether a row's stretch must start and end at a multiple of 16.
inline bool is_nibbles(Dtype dtype) {
  return dtype == Dtype::nvfp4 || dtype == Dtype::mxfp4 || dtype == Dtype::nf4;
}

}  // namespace
}  // namespace cairn
