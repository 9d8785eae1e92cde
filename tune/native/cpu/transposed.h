// Columns of bf16 weights as words for the bf16 dot instruction, transposed in registers as their rows are
// read.
#pragma once
#include "micro.h"

namespace cairn {
namespace {

inline int64_t words_of(const Gemm& g) { return word_count(words_for(g.arithmetic), g.pair[0].k); }

// VL columns of bf16, read in place and transposed VL words of k at a time. Columns beyond the last repeat
// it; their results are unused.
struct Columns {
  const char* at[VL];
  int64_t bytes;

  Columns(const Gemm& g, int64_t column, int64_t columns) : bytes(g.pair[0].k * 2) {
    const Stored& s = g.pair[0].b.stored;
    for (int i = 0; i < VL; i++) at[i] = s.part[0] + (column + min64(i, columns - 1)) * s.columns * 2;
  }
  // Words that are whole vectors in every column.
  int64_t whole(int64_t count) const { return min64(count, bytes / 4) / VL * VL; }
  void load_transposed(int64_t word, vu* r) const {
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) r[i] = load_as<vu>(at[i] + word * 4);
    transpose(r);
  }
  // The last words, padded with zeros.
  void transpose_rest(int64_t word, vu* r) const {
    for (int i = 0; i < VL; i++) r[i] = vu{}, std::memcpy(&r[i], at[i] + word * 4, size_t(bytes - word * 4));
    transpose(r);
  }
};

// `n` words of a panel from `from` on, transposed.
template <int nv>
inline void transpose_panel(
    const Gemm& g, int64_t column, int64_t columns, int64_t from, int64_t n, uint32_t* b) {
  for (int64_t j = 0; j < nv; j++) {
    const Columns group(g, column + j * VL, columns - j * VL);
    const int64_t whole = min64(group.whole(words_of(g)), from + n);
    uint32_t* to = b + j * VL;
    int64_t word = from;
    vu r[VL];
    for (; word < whole; word += VL) {
      group.load_transposed(word, r);
#pragma GCC unroll 16
      for (int w = 0; w < VL; w++, to += nv * VL) store_as(to, r[w]);
    }
    if (word == from + n) continue;
    group.transpose_rest(word, r);
    for (int64_t w = 0; w < from + n - word; w++, to += nv * VL) store_as(to, r[w]);
  }
}

}  // namespace
}  // namespace cairn
