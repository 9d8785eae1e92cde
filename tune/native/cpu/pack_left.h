// The left operand in strips of MR rows, in the order in which the micro-kernel reads it: word by word with
// the rows of one word side by side, or, for the matrix unit, tile by tile of k with each row's words side by
// side.
#pragma once
#include "micro.h"

namespace cairn {
namespace {

// Start of a row's words in the tile of k that begins at `word`.
inline uint32_t* tile_row(uint32_t* strips, int64_t stride, int64_t row, int64_t word) {
  return strips + row / MR * stride + word * MR + row % MR * kTileWords;
}

// Rows run along k in memory, so each is copied or decoded.
inline void pack_tiles_along(
    const Stored& s, int64_t row0, int64_t rows, int64_t k0, int64_t k, uint32_t* strips, int64_t stride) {
  const int64_t n = word_count(Words::pairs, k);
  const bool lies = s.dtype == Dtype::bf16 && s.rounding.format == Rounding::none;
  alignas(64) uint32_t scratch[kDecodeSpan + 16];
  for (int64_t row = 0; row < ceil_div(rows, MR) * MR; row++) {
    const int64_t whole = lies && row < rows ? k / 2 / kTileWords * kTileWords : 0;
    const char* from = s.part[0] + ((row0 + row) * s.columns + k0) * 2;
    for (int64_t word = 0; word < whole; word += kTileWords)
      std::memcpy(tile_row(strips, stride, row, word), from + word * 4, kTileWords * 4);
    for (int64_t at = whole; at < n; at += kDecodeSpan) {
      const int64_t span = min64(kDecodeSpan, n - at);
      if (row < rows)
        row_words<Words::pairs>(s, row0 + row, k0 + at * 2, min64(span * 2, k - at * 2), span, scratch);
      else std::memset(scratch, 0, size_t(span) * 4);
      for (int64_t word = 0; word < span; word += kTileWords)
        std::memcpy(tile_row(strips, stride, row, at + word), scratch + word, kTileWords * 4);
    }
  }
}

// k runs down the stored rows: squares of 16 words by 16 rows are transposed in registers.
inline void pack_tiles_across(
    const Stored& s, int64_t row0, int64_t rows, int64_t k0, int64_t k, uint32_t* strips, int64_t stride) {
  const int64_t n = word_count(Words::pairs, k);
  alignas(64) uint32_t words[kTileWords * kTileRows];
  for (int64_t row = 0; row < ceil_div(rows, MR) * MR; row += kTileRows) {
    const int64_t live = max64(0, min64(kTileRows, rows - row));
    for (int64_t word = 0; word < n; word += kTileWords) {
      const int64_t first = word * 2;
      if (live == 0) std::memset(words, 0, sizeof words);
      else
        pack_across<Words::pairs, kTileRows>(
            s, row0 + row, live, k0 + first, min64(kTileWords * 2, k - first), words, 0);
      vu square[VL];
      for (int i = 0; i < VL; i++) square[i] = load_as<vu>(words + i * kTileRows);
      transpose(square);
      for (int i = 0; i < VL; i++) store_as(tile_row(strips, stride, row + i, word), square[i]);
    }
  }
}

// Packs k0 … k0+k of `rows` rows from row0 into strips, `stride` words apart. Writes at most
// padded_rows(rows) rows.
inline void pack_strips(Words words, const Operand& o, int64_t row0, int64_t rows, int64_t k0, int64_t k,
    uint32_t* strips, int64_t stride) {
  if constexpr (kHasTiles) {
    if (words == Words::pairs) {
      if (o.k_in_row) pack_tiles_along(o.stored, row0, rows, k0, k, strips, stride);
      else pack_tiles_across(o.stored, row0, rows, k0, k, strips, stride);
      return;
    }
  }
  pack<MR>(words, o, row0, rows, k0, k, strips, stride);
}

}  // namespace
}  // namespace cairn
