// Stored weights to words of the bf16 dot instruction, a vector at a time and without floats in memory. Each
// word has the bits that decode_floats and a rounding to bf16 give.
//
// A block of 4-bit codes has sixteen possible numbers. They are computed and rounded once, and a permutation
// looks up two numbers for each word. E4M3 codes are shifted into the fields of a float of the same mantissa,
// whose exponent is 120 too low.
#pragma once
#include "decode.h"

namespace cairn {
namespace {

// Whether whole vectors of words of `s` are decoded here. Such dtypes have whole blocks in every row.
inline bool has_word_decoder([[maybe_unused]] const Stored& s) {
#if defined(__AVX512BF16__)
  return s.rounding.format == Rounding::none &&
         (is_nibbles(s.dtype) || s.dtype == Dtype::fp8_tiles || s.dtype == Dtype::fp8_tensor);
#else
  return false;
#endif
}

// Rows are read a stretch of a panel at a time (panel.h), which is too short for the hardware prefetcher: the
// next stretch, 256 numbers further, is prefetched.
template <int bits>
inline void prefetch_stretch(const void* at) {
  __builtin_prefetch(static_cast<const char*>(at) + 256 * bits / 8, 0, 3);
}

// bf16 is read in place, and every other instruction set decodes floats.
struct PlainWords {
  int64_t columns;
  const char* data;
  explicit PlainWords(const Stored& s) : columns(s.columns), data(s.part[0]) {}
  [[gnu::always_inline]] vu along(int64_t row, int64_t k) const {
    const char* at = data + (row * columns + k) * 2;
    prefetch_stretch<16>(at);
    return load_as<vu>(at);
  }
};

#if defined(__AVX512BF16__)

// 4-bit codes of 32 numbers of a row, one word for each pair: the indices of a permutation of 32 numbers.
template <bool high_first>
inline __m512i nibbles_along(const uint8_t* codes) {
  const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  const __m512i both = high_first
                           ? _mm512_or_si512(_mm512_srli_epi32(bytes, 4), _mm512_slli_epi32(bytes, 16))
                           : _mm512_or_si512(bytes, _mm512_slli_epi32(bytes, 12));
  return _mm512_and_si512(both, _mm512_set1_epi32(0x000f000f));
}

// 4-bit codes of sixteen columns of two rows: of the first in the low half of each word, and of the second,
// plus 16, in the high half.
template <bool high_first>
inline __m512i nibbles_across(const uint8_t* first, const uint8_t* second) {
  const __m128i bytes = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(first)),
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(second)));
  // Words 2i and 2i + 1 both take byte i of each row, and shift by the position of their nibble.
  const __m512i twice = _mm512_permutexvar_epi32(
      _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0),
      _mm512_castsi256_si512(_mm256_cvtepu8_epi16(bytes)));
  const __m512i words = _mm512_srlv_epi32(twice, _mm512_set1_epi64(high_first ? 4ll : 4ll << 32));
  return _mm512_or_si512(
      _mm512_and_si512(words, _mm512_set1_epi32(0x000f000f)), _mm512_set1_epi32(0x00100000));
}

// Sixteen numbers as bf16, then sixteen others. Subnormal numbers become zero, as in the dot instruction.
inline __m512i round_two(vf first, vf second) {
  return (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
}

// Words of which the low halves are the first sixteen of 32 bf16, and the high halves the others.
inline vu zip(__m512i two) {
  return (vu)_mm512_permutexvar_epi16(
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20,
          4, 19, 3, 18, 2, 17, 1, 16, 0),
      two);
}

// The sixteen numbers of a block, as bf16, for each of the 256 possible scales of a block.
struct Nvfp4Tables {
  bool is_filled = false;
  uint32_t tensor = 0;  // the bits of the tensor's scale
  alignas(64) __m256i words[256];

  void fill(float scale) {
    is_filled = true, tensor = bits_of(scale);
    for (int code = 0; code < 256; code++)
      words[code] = (__m256i)_mm512_cvtneps_pbh(
          (__m512)(load(kE2m1Table) * decode_e4m3_one(uint8_t(code)) * scale));
  }
};

// A thread decodes one matrix for a while, a stretch of a panel in each call. It keeps the tables of the last
// one, 8 KiB.
inline const __m256i* nvfp4_tables(float scale) {
  static thread_local Nvfp4Tables tables;
  if (!tables.is_filled || tables.tensor != bits_of(scale)) tables.fill(scale);
  return tables.words;
}

struct Nvfp4Words {
  int64_t columns;
  const uint8_t *codes, *scales;
  const __m256i* tables;
  explicit Nvfp4Words(const Stored& s)
      : columns(s.columns),
        codes(reinterpret_cast<const uint8_t*>(s.part[0])),
        scales(reinterpret_cast<const uint8_t*>(s.part[1])),
        tables(nvfp4_tables(s.without_tensor_scale ? 1.0f : tensor_scale_of(s))) {}

  [[gnu::always_inline]] __m512i two_blocks(uint64_t first, uint64_t second) const {
    return _mm512_inserti64x4(_mm512_castsi256_si512(tables[scales[first]]), tables[scales[second]], 1);
  }
  [[gnu::always_inline]] vu along(int64_t row, int64_t k) const {
    const uint64_t at = uint64_t(row * columns + k), block = at / kNvfp4Block;
    prefetch_stretch<4>(codes + at / 2);
    // The second block of the 32 numbers is the second table.
    const __m512i second = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi32(0x00100010), 1);
    return (vu)_mm512_permutexvar_epi16(
        _mm512_or_si512(nibbles_along<false>(codes + at / 2), second), two_blocks(block, block + 1));
  }
  [[gnu::always_inline]] vu across(int64_t row, int64_t column) const {
    const uint64_t at = uint64_t(row * columns + column), below = at + uint64_t(columns);
    return (vu)_mm512_permutexvar_epi16(nibbles_across<false>(codes + at / 2, codes + below / 2),
        two_blocks(at / kNvfp4Block, below / kNvfp4Block));
  }
};

struct Mxfp4Words {
  int64_t columns;
  const uint8_t *codes, *scales;
  explicit Mxfp4Words(const Stored& s)
      : columns(s.columns),
        codes(reinterpret_cast<const uint8_t*>(s.part[0])),
        scales(reinterpret_cast<const uint8_t*>(s.part[1])) {}

  vf table(uint64_t at) const { return load(kE2m1Table) * decode_e8m0(scales[at / kMxfp4Block]); }
  [[gnu::always_inline]] vu along(int64_t row, int64_t k) const {
    const uint64_t at = uint64_t(row * columns + k);
    prefetch_stretch<4>(codes + at / 2);
    const vf one = table(at);
    return (vu)_mm512_permutexvar_epi16(nibbles_along<false>(codes + at / 2), round_two(one, one));
  }
  [[gnu::always_inline]] vu across(int64_t row, int64_t column) const {
    const uint64_t at = uint64_t(row * columns + column), below = at + uint64_t(columns);
    return (vu)_mm512_permutexvar_epi16(
        nibbles_across<false>(codes + at / 2, codes + below / 2), round_two(table(at), table(below)));
  }
};

struct Nf4Words {
  int64_t columns;
  const uint8_t *codes, *scale_codes;
  const float *groups, *map;
  float offset;
  explicit Nf4Words(const Stored& s)
      : columns(s.columns),
        codes(reinterpret_cast<const uint8_t*>(s.part[0])),
        scale_codes(reinterpret_cast<const uint8_t*>(s.part[1])),
        groups(reinterpret_cast<const float*>(s.part[2])),
        map(reinterpret_cast<const float*>(s.part[4])) {
    std::memcpy(&offset, s.part[3], 4);
  }

  vf table(uint64_t at) const {
    const uint64_t block = at / kNf4Block;
    return load(kNf4Table) * (map[scale_codes[block]] * groups[block / kNf4Group] + offset);
  }
  [[gnu::always_inline]] vu along(int64_t row, int64_t k) const {
    const uint64_t at = uint64_t(row * columns + k);
    prefetch_stretch<4>(codes + at / 2);
    const vf one = table(at);
    return (vu)_mm512_permutexvar_epi16(nibbles_along<true>(codes + at / 2), round_two(one, one));
  }
  [[gnu::always_inline]] vu across(int64_t row, int64_t column) const {
    const uint64_t at = uint64_t(row * columns + column), below = at + uint64_t(columns);
    return (vu)_mm512_permutexvar_epi16(
        nibbles_across<true>(codes + at / 2, codes + below / 2), round_two(table(at), table(below)));
  }
};

// Sixteen E4M3 codes times a scale. 2^120 moves the exponent exactly, so the product is rounded once. NaN
// codes become numbers.
inline vf finite_e4m3(const uint8_t* codes, vf scale) {
  const __m512i wide = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  const __m512i bits = _mm512_and_si512(_mm512_slli_epi32(wide, 20), _mm512_set1_epi32(int(0x87f00000)));
  return (vf)bits * power_of_two(120) * scale;
}

inline bool has_nan_e4m3(__m128i codes) {
  const __m128i nan = _mm_set1_epi8(0x7f);
  return _mm_cmpeq_epi8_mask(_mm_and_si128(codes, nan), nan) != 0;
}

// The same with NaN codes.
inline vf scaled_e4m3(const uint8_t* codes, vf scale) {
  if (__builtin_expect(has_nan_e4m3(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes))), 0))
    return decode_e4m3(__builtin_convertvector(load_as<vb>(codes), vu)) * scale;
  return finite_e4m3(codes, scale);
}

struct Fp8Words {
  int64_t columns, across_tiles;
  const uint8_t* codes;
  const float* scales;  // of tiles, or null
  float tensor;
  explicit Fp8Words(const Stored& s)
      : columns(s.columns),
        across_tiles(ceil_div(s.columns, kFp8Tile)),
        codes(reinterpret_cast<const uint8_t*>(s.part[0])),
        scales(s.dtype == Dtype::fp8_tiles ? reinterpret_cast<const float*>(s.part[1]) : nullptr),
        tensor(s.without_tensor_scale ? 1.0f : tensor_scale_of(s)) {}

  vf numbers(int64_t row, int64_t column) const {
    const int64_t tile =
        int64_t(uint64_t(row) / kFp8Tile) * across_tiles + int64_t(uint64_t(column) / kFp8Tile);
    const float scale = scales ? scales[tile] : tensor;
    return scaled_e4m3(codes + row * columns + column, splat(scale));
  }
  vu along(int64_t row, int64_t k) const { return (vu)round_two(numbers(row, k), numbers(row, k + VL)); }
  vu across(int64_t row, int64_t column) const {
    return zip(round_two(numbers(row, column), numbers(row + 1, column)));
  }
};

#endif

// Calls use(decoder) with the decoder of a dtype that has one.
template <class Use>
inline void with_word_decoder([[maybe_unused]] const Stored& s, [[maybe_unused]] Use use) {
#if defined(__AVX512BF16__)
  if (s.dtype == Dtype::nvfp4) use(Nvfp4Words(s));
  else if (s.dtype == Dtype::mxfp4) use(Mxfp4Words(s));
  else if (s.dtype == Dtype::nf4) use(Nf4Words(s));
  else use(Fp8Words(s));
#endif
}

}  // namespace
}  // namespace cairn
