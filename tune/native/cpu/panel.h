// One panel of columns of a product: stretches of k are packed into the first-level cache and multiplied with
// all rows of a block before the next is read.
#pragma once
#include "finish.h"

namespace cairn {
namespace {

// Words of k in a stretch. A panel of 48 columns then takes 24 KiB.
constexpr int64_t kPanelStretch = 128;

// Rows [row, row + rows) of the left side, packed: strips of MR rows of each pair, with all words of a strip
// consecutive.
struct Block {
  const uint32_t* words[2];
  int64_t row, rows;
};

inline void pack_stretch(
    Words words, const Operand& b, int64_t column, int64_t columns, int64_t k0, int64_t k, uint32_t* panel) {
  if (columns > 2 * VL) pack<3 * VL>(words, b, column, columns, k0, k, panel, 0);
  else if (columns > VL) pack<2 * VL>(words, b, column, columns, k0, k, panel, 0);
  else pack<VL>(words, b, column, columns, k0, k, panel, 0);
}

// Writes the rows of a block to the result. For a transposed result they are gathered in `line`, one number
// per row.
inline void finish_block(const Gemm& g, bool pairs, const Block& a, const float* sums, int64_t column,
    int64_t columns, float* line) {
  if (!g.is_transposed) {
    for (int64_t i = 0; i < a.rows; i++)
      finish_row(g, pairs, (a.row + i) * g.n + column, columns, sums + i * NR);
    return;
  }
  for (int64_t j = 0; j < columns; j++) {
    for (int64_t i = 0; i < a.rows; i++) line[i] = sums[i * NR + j];
    finish_row(g, pairs, (column + j) * g.m + a.row, a.rows, line);
  }
}

// `b` has NR · kPanelStretch words, `sums` NR floats for each padded row, `line` one.
inline void multiply_panel(
    const Gemm& g, const Block& a, int64_t column, uint32_t* b, float* sums, float* line) {
  const Words words = words_for(g.arithmetic);
  const bool pairs = words == Words::pairs;
  const int64_t per = pairs ? 2 : 1, columns = min64(NR, g.n - column);
  const int nv = int(ceil_div(columns, VL));
  bool add = false;
  for (int p = 0; p < 2; p++) {
    const Pair& pair = g.pair[p];
    if (p > 0 && pair.k == 0) continue;
    const int64_t count = word_count(words, pair.k);
    for (int64_t from = 0; from < max64(count, 1); from += kPanelStretch, add = true) {
      const int64_t n = min64(kPanelStretch, count - from), k0 = from * per;
      pack_stretch(words, pair.b, column, columns, k0, min64(pair.k - k0, n * per), b);
      for (int64_t i = 0; i < a.rows; i += MR)
        run_micro(
            pairs, a.rows - i, nv, n, a.words[p] + i * count + from * MR, b, nv * VL, sums + i * NR, NR, add);
    }
    if (p == 0 && g.is_scaled)
      for (int64_t i = 0; i < padded_rows(a.rows) * NR; i += VL) store(sums + i, load(sums + i) * g.scale);
  }
  finish_block(g, pairs, a, sums, column, columns, line);
}

}  // namespace
}  // namespace cairn
