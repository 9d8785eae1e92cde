// Packing: operands of a matmul are laid out in the order in which the micro-kernel reads them.
//
// An operand is a matrix of `rows` (of the output: M or N) by k. A panel holds `width` rows. Its words are
// ordered by k, with the rows of one k side by side. A word is one f32, or, for the dot instruction of bf16,
// a pair of bf16 with consecutive k. Rows and k beyond the end are zero.
#pragma once
#include "decode_words.h"
#include "gemm.h"

namespace cairn {
namespace {

#if defined(__AVX512BF16__)
constexpr bool kHasBf16Dot = true;
#else
constexpr bool kHasBf16Dot = false;
#endif
#if defined(__AMX_BF16__)
constexpr bool kHasTiles = true;
#else
constexpr bool kHasTiles = false;
#endif
// Words of k in a tile of the matrix unit. If there is one, runs of pairs are whole tiles.
constexpr int64_t kTileWords = 16;

// How numbers become words. Rounded: to bf16, but kept as f32 if there is no dot instruction.
enum class Words { f32, rounded, pairs };

inline Words words_for(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::f32) return Words::f32;
  return kHasBf16Dot ? Words::pairs : Words::rounded;
}

// Words that k numbers fill.
inline int64_t full_words(Words words, int64_t k) { return words == Words::pairs ? (k + 1) / 2 : k; }
// Words of a packed run of k numbers. Those beyond the numbers are zero.
inline int64_t word_count(Words words, int64_t k) {
  if (kHasTiles && words == Words::pairs) return ceil_div(full_words(words, k), kTileWords) * kTileWords;
  return full_words(words, k);
}

// k decoded at a time: VL rows of this many floats stay in the first-level cache.
constexpr int64_t kDecodeSpan = 256;

// Words [0, n) of one row from k0 on, of which `valid` k exist.
template <Words words>
inline void row_words(const Stored& s, int64_t row, int64_t k0, int64_t valid, int64_t n, uint32_t* out) {
  constexpr int per = words == Words::pairs ? 2 : 1;
  const bool is_rounded = s.rounding.format != Rounding::none;
  if (words == Words::pairs && s.dtype == Dtype::bf16 && !is_rounded) {
    std::memcpy(out, s.part[0] + (row * s.columns + k0) * 2, size_t(valid) * 2);
    std::memset(reinterpret_cast<char*>(out) + valid * 2, 0, size_t(n * 4 - valid * 2));
    return;
  }
  if (words == Words::pairs && s.dtype == Dtype::bf16 && valid % VL == 0 && valid == n * 2) {
    // Rounding to a grid needs no scratch unless it depends on whole blocks.
    const bf16* in = reinterpret_cast<const bf16*>(s.part[0]) + row * s.columns + k0;
    bf16* to = reinterpret_cast<bf16*>(out);
    if (s.rounding.format == Rounding::e4m3) {
      for (int64_t i = 0; i < valid; i += VL)
        store_normal(to + i, round_e4m3(load(in + i) * s.rounding.encode));
      return;
    }
    if (s.rounding.format == Rounding::e5m2) {
      for (int64_t i = 0; i < valid; i += VL)
        store_normal(to + i, round_e5m2(load(in + i) * s.rounding.encode));
      return;
    }
  }
  alignas(64) float scratch[kDecodeSpan * 2 + 32];
  const int64_t from = is_nibbles(s.dtype) ? k0 / 16 * 16 : k0,
                to = is_nibbles(s.dtype) ? min64(s.columns, ceil_div(k0 + valid, 16) * 16) : k0 + valid;
  decode_floats(s, row, from, to, scratch);
  if (is_rounded) round_values(s.rounding, s.rounding.first + row * s.columns + from, to - from, scratch);
  const float* in = scratch + (k0 - from);
  for (int64_t i = valid; i < n * per; i++) scratch[k0 - from + i] = 0;
  int64_t i = 0;
  if (words == Words::pairs) {
    bf16* to16 = reinterpret_cast<bf16*>(out);
    for (; i + VL <= n * 2; i += VL) store_normal(to16 + i, load(in + i));
    for (; i < n * 2; i++) to16[i].bits = encode_bf16(in[i]);
  } else {
    float* to32 = reinterpret_cast<float*>(out);
    for (; i + VL <= n; i += VL)
      store(to32 + i, words == Words::rounded ? round_bf16(load(in + i)) : load(in + i));
    for (; i < n; i++) to32[i] = words == Words::rounded ? decode_bf16(encode_bf16(in[i])) : in[i];
  }
}

// Rows that are already interleaved, VL side by side.
template <Words words, int width>
inline void pack_vnni(const Stored& s, int64_t row0, int64_t rows, int64_t k0, int64_t k, uint32_t* panels,
    int64_t panel_stride) {
  constexpr int chunk = VL < width ? VL : width;
  for (int64_t group = 0; group < rows; group += VL) {
    const uint32_t* from = vnni_row(s, row0 + group) + k0 / 2 * kVnniRows;
    const auto put = [&](vu v, int64_t at) {
#pragma GCC unroll 4
      for (int lane = 0; lane < VL; lane += chunk) {
        const int64_t row = group + lane;
        std::memcpy(panels + row / width * panel_stride + at * width + row % width,
            reinterpret_cast<const uint32_t*>(&v) + lane, chunk * 4);
      }
    };
    for (int64_t i = 0; i < k; i += 2, from += kVnniRows) {
      const vu all = load_as<vu>(from);
      if constexpr (words == Words::pairs) {
        put(i + 1 < k ? all : all & 0xffff, i / 2);
      } else {
        put(all << 16, i);
        if (i + 1 < k) put(all & 0xffff0000, i + 1);
      }
    }
    for (int64_t at = full_words(words, k); at < word_count(words, k); at++) put(vu{}, at);
  }
}

// Stores the words of VL rows from row `group` of a panel on, `live` of which count, at word `at`.
template <int width>
inline void place_square(
    vu* r, int64_t group, int64_t at, int64_t live, uint32_t* panels, int64_t panel_stride) {
  constexpr int chunk = VL < width ? VL : width;
  transpose(r);
  for (int64_t i = 0; i < live; i++) {
#pragma GCC unroll 4
    for (int lane = 0; lane < VL; lane += chunk) {
      const int64_t row = group + lane;
      uint32_t* to = panels + row / width * panel_stride + (at + i) * width + row % width;
      std::memcpy(to, reinterpret_cast<const uint32_t*>(&r[i]) + lane, chunk * 4);
    }
  }
}

// The first `count` words, whole vectors, of VL rows from `row0 + group` on.
template <int width, class Source>
inline void pack_squares(const Source& source, int64_t row0, int64_t group, int64_t k0, int64_t count,
    uint32_t* panels, int64_t panel_stride) {
  for (int64_t word = 0; word < count; word += VL) {
    vu r[VL];
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) r[i] = source.along(row0 + group + i, k0 + 2 * word);
    place_square<width>(r, group, word, VL, panels, panel_stride);
  }
}

// Rows run along k in memory: blocks of VL rows are transposed in registers.
template <Words words, int width>
inline void pack_along(const Stored& s, int64_t row0, int64_t rows, int64_t k0, int64_t k, uint32_t* panels,
    int64_t panel_stride) {
  constexpr int per = words == Words::pairs ? 2 : 1;
  const int64_t n = word_count(words, k);
  alignas(64) uint32_t scratch[VL][kDecodeSpan + 16];
  const bool lies = words == Words::pairs && s.dtype == Dtype::bf16 && s.rounding.format == Rounding::none;
  const bool is_decoded = words == Words::pairs && has_word_decoder(s) && k0 % (2 * VL) == 0;
  if (s.dtype == Dtype::bf16_vnni && s.rounding.format == Rounding::none && words != Words::f32 &&
      row0 % VL == 0 && k0 % 2 == 0) {
    pack_vnni<words, width>(s, row0, rows, k0, k, panels, panel_stride);
    return;
  }
  for (int64_t group = 0; group < ceil_div(rows, VL) * VL; group += VL) {
    // Whole squares of words are read in place or decoded in registers.
    const int64_t whole = (lies || is_decoded) && group + VL <= rows ? k / per / VL * VL : 0;
    const auto squares = [&](const auto& source) {
      pack_squares<width>(source, row0, group, k0, whole, panels, panel_stride);
    };
    if (whole > 0 && lies) squares(PlainWords(s));
    else if (whole > 0) with_word_decoder(s, squares);
    for (int64_t at = whole; at < n; at += kDecodeSpan) {
      const int64_t span = min64(kDecodeSpan, n - at), valid = min64(span * per, k - at * per),
                    padded = ceil_div(span, VL) * VL;
      for (int i = 0; i < VL; i++) {
        if (group + i < rows) row_words<words>(s, row0 + group + i, k0 + at * per, valid, padded, scratch[i]);
        else std::memset(scratch[i], 0, size_t(padded) * 4);
      }
      for (int64_t word = 0; word < span; word += VL) {
        vu r[VL];
        for (int i = 0; i < VL; i++) r[i] = load_as<vu>(scratch[i] + word);
        place_square<width>(r, group, at + word, min64(VL, span - word), panels, panel_stride);
      }
    }
  }
}

// VL words of one k, or half of each if a word is a pair, from rows that are side by side.
template <Words words>
inline vu side_by_side(const float* values) {
  const vf v = load(values);
  if constexpr (words == Words::pairs) return round_normal_bits(v);
  return (vu)(words == Words::rounded ? round_bf16(v) : v);
}
template <Words words>
inline vu side_by_side(const bf16* values) {
  if constexpr (words == Words::pairs) return __builtin_convertvector(load_as<vh>(values), vu);
  return (vu)load(values);
}

// Writes `n` words of `step` rows, one word after the other; `read(word, i)` gives those of rows i … i+VL.
template <int width, int step, class Read>
inline void write_words(int64_t n, uint32_t* panel, int64_t panel_stride, Read read) {
  for (int64_t word = 0; word < n; word++, panel += width) {
    for (int i = 0; i < step; i += VL) {
      const vu v = read(word, i);
      if constexpr (width >= VL) {
        store_as(panel + i, v);
      } else {
        for (int lane = 0; lane < VL; lane += width)
          std::memcpy(
              panel + lane / width * panel_stride, reinterpret_cast<const uint32_t*>(&v) + lane, width * 4);
      }
    }
  }
}

// The same, where `read(k, i)` gives the words or halves of one k.
template <Words words, int width, int step, class Read>
inline void write_across(int64_t n, uint32_t* panel, int64_t panel_stride, Read read) {
  write_words<width, step>(n, panel, panel_stride, [&](int64_t word, int i) {
    if constexpr (words == Words::pairs) return read(2 * word, i) | (read(2 * word + 1, i) << 16);
    else return read(word, i);
  });
}

// k runs down the stored rows, so words of one k are already side by side.
template <Words words, int width>
inline void pack_across(const Stored& s, int64_t row0, int64_t rows, int64_t k0, int64_t k, uint32_t* panels,
    int64_t panel_stride) {
  constexpr int step = width < VL ? VL : width;
  constexpr int per = words == Words::pairs ? 2 : 1;
  const int64_t n = word_count(words, k);
  for (int64_t r = 0; r < rows; r += step) {
    const int64_t live = min64(step, rows - r), column = row0 + r;
    uint32_t* panel = panels + r / width * panel_stride;
    // Whole words of whole vectors are read in place.
    const bool is_plain = s.dtype == Dtype::bf16 || s.dtype == Dtype::f32;
    const bool is_decoded = words == Words::pairs && has_word_decoder(s) && column % VL == 0;
    const int64_t whole = live == step && (is_plain || is_decoded) ? k / per : 0;
    if (s.dtype == Dtype::bf16) {
      const bf16* from = reinterpret_cast<const bf16*>(s.part[0]) + k0 * s.columns + column;
      write_across<words, width, step>(whole, panel, panel_stride,
          [&](int64_t at, int i) { return side_by_side<words>(from + at * s.columns + i); });
    } else if (is_plain) {
      const float* from = reinterpret_cast<const float*>(s.part[0]) + k0 * s.columns + column;
      write_across<words, width, step>(whole, panel, panel_stride,
          [&](int64_t at, int i) { return side_by_side<words>(from + at * s.columns + i); });
    } else if (whole > 0) {
      with_word_decoder(s, [&](const auto& source) {
        write_words<width, step>(whole, panel, panel_stride,
            [&](int64_t word, int i) { return source.across(k0 + 2 * word, column + i); });
      });
    }
    alignas(64) float scratch[per][step + 32];
    for (int64_t word = whole; word < n; word++) {
      const float* first[per];
      for (int half = 0; half < per; half++) {
        const int64_t at = word * per + half, from = is_nibbles(s.dtype) ? column / 16 * 16 : column;
        const int64_t to =
            is_nibbles(s.dtype) ? min64(s.columns, ceil_div(column + live, 16) * 16) : column + live;
        first[half] = scratch[half] + (column - from);
        if (at < k) decode_floats(s, k0 + at, from, to, scratch[half]);
        for (int64_t i = at < k ? live : 0; i < step; i++) scratch[half][column - from + i] = 0;
      }
      write_across<words, width, step>(1, panel + word * width, panel_stride,
          [&](int64_t half, int i) { return side_by_side<words>(first[half] + i); });
    }
  }
}

// Packs k0 … k0+k of `rows` rows from row0 into panels of `width` rows, `panel_stride` words apart. Writes at
// least ceil(rows / VL) · VL rows.
template <int width>
inline void pack(Words words, const Operand& o, int64_t row0, int64_t rows, int64_t k0, int64_t k,
    uint32_t* panels, int64_t panel_stride) {
  if (words == Words::pairs) {
    if constexpr (kHasBf16Dot) {
      if (o.k_in_row) pack_along<Words::pairs, width>(o.stored, row0, rows, k0, k, panels, panel_stride);
      else pack_across<Words::pairs, width>(o.stored, row0, rows, k0, k, panels, panel_stride);
    }
  } else if (words == Words::rounded) {
    if (o.k_in_row) pack_along<Words::rounded, width>(o.stored, row0, rows, k0, k, panels, panel_stride);
    else pack_across<Words::rounded, width>(o.stored, row0, rows, k0, k, panels, panel_stride);
  } else {
    if (o.k_in_row) pack_along<Words::f32, width>(o.stored, row0, rows, k0, k, panels, panel_stride);
    else pack_across<Words::f32, width>(o.stored, row0, rows, k0, k, panels, panel_stride);
  }
}

}  // namespace
}  // namespace cairn
