// Shared parts of attention and its gradient: how heads are laid out in their tensors, how tiles of them are
// packed, and the products of tiles.
#pragma once
#include <stdexcept>

#include "pack_left.h"

namespace cairn::CAIRN_ISA {

namespace {

// Queries and keys of a tile. Keys are whole panels.
struct TileSize {
  int64_t queries, keys;
};

// Sizes, known before there is data.
struct Sizes {
  int64_t tokens, heads, kv_heads, width, padded;  // padded: width in whole vectors
  float scale, cap;  // of scores; a cap of 0 means none
  int64_t window;
  Words words;
  bool pairs;
  TileSize tile;
  int64_t width_words, query_words,
      key_words;  // words of a run over width and over a tile's queries and keys
  int64_t documents;

  Sizes(const Tensor& q, const Tensor& cu_seqlens, int64_t heads, int64_t kv_heads, float scale, float cap,
      int64_t window, TileSize tile)
      : tokens(q.dims[0]),
        heads(heads),
        kv_heads(kv_heads),
        width(q.dims[1] / heads),
        padded(ceil_div(width, VL) * VL),
        scale(scale),
        cap(cap),
        window(window),
        words(words_for(q.dtype == Dtype::bf16 ? Arithmetic::bf16 : Arithmetic::f32)),
        pairs(words == Words::pairs),
        tile(tile),
        width_words(word_count(words, width)),
        query_words(word_count(words, tile.queries)),
        key_words(word_count(words, tile.keys)),
        documents(cu_seqlens.dims[0] - 1) {}

  // Maximum number of tiles of `size` rows: each tile that is not full ends a document.
  int64_t max_tiles(int64_t size) const { return min64(tokens, tokens / size + documents); }
  // Words of one tile of keys and one of values, packed.
  int64_t key_size() const { return tile.keys * width_words; }
  int64_t value_size() const { return key_words * padded; }
  size_t packed_bytes(int64_t key_tiles) const {
    return size_t(kv_heads * key_tiles * (key_size() + value_size()) + 1) * 4;
  }
};

struct Shape : Sizes {
  const int32_t* ends;

  Shape(const Tensor& q, const Tensor& cu_seqlens, int64_t heads, int64_t kv_heads, float scale, float cap,
      int64_t window, TileSize tile)
      : Sizes(q, cu_seqlens, heads, kv_heads, scale, cap, window, tile), ends(ints_of(cu_seqlens)) {
    if (heads % kv_heads) throw std::runtime_error("heads must be a multiple of kv_heads");
    if (window < 0) throw std::runtime_error("a window must not be negative");
    if (documents < 0 || ends[0] != 0 || ends[documents] != tokens)
      throw std::runtime_error("cu_seqlens must run from 0 to the number of tokens");
    for (int64_t i = 0; i < documents; i++)
      if (ends[i + 1] < ends[i]) throw std::runtime_error("cu_seqlens must not fall");
  }

  int64_t length(int64_t document) const { return ends[document + 1] - ends[document]; }
};

// One head of a tensor (T, heads·width) as rows: element (t, i) at row t, column head·width + i.
struct HeadRows {
  const Tensor* tensor;
  int64_t stride, column;
  Stored stored() const {
    return plain(tensor->data + column * int64_t(element_size(tensor->dtype)), tensor->dtype, stride);
  }
  int64_t at(int64_t t) const { return t * stride + column; }
};
HeadRows head_of(const Tensor& t, int64_t head, int64_t width) { return {&t, t.dims[1], head * width}; }

// Rows as the left operand, k along the head.
void pack_left(const Shape& s, const HeadRows& h, int64_t row, int64_t rows, uint32_t* to) {
  pack_strips(s.words, {h.stored(), true}, row, rows, 0, s.width, to, s.width_words * MR);
}

// Rows as the right operand, k along the head: panels of NR rows.
void pack_right(const Shape& s, const HeadRows& h, int64_t row, int64_t rows, uint32_t* to) {
  for (int64_t panel = 0; panel * NR < rows; panel++)
    pack<NR>(s.words, {h.stored(), true}, row + panel * NR, min64(NR, rows - panel * NR), 0, s.width,
        to + panel * NR * s.width_words, 0);
}

// Columns of the head as the right operand, k down the rows.
void pack_down(const Shape& s, const HeadRows& h, int64_t row, int64_t rows, uint32_t* to) {
  const int64_t n = word_count(s.words, rows);
  Operand o{h.stored(), false};
  for (int64_t column = 0; column < s.width; column += NR) {
    const int64_t columns = min64(NR, s.width - column), nv = ceil_div(columns, VL);
    uint32_t* panel = to + column * n;
    if (nv == 3) pack<3 * VL>(s.words, o, column, columns, row, rows, panel, 0);
    else if (nv == 2) pack<2 * VL>(s.words, o, column, columns, row, rows, panel, 0);
    else pack<VL>(s.words, o, column, columns, row, rows, panel, 0);
  }
}

// Keys of a tile up to the last that query `row` sees, both counted from the start of the document.
inline int64_t visible(int64_t row, int64_t key0, int64_t keys) {
  return max64(0, min64(keys, row - key0 + 1));
}
// How many of those precede its window. A window of 0 means none.
inline int64_t hidden(int64_t window, int64_t row, int64_t key0, int64_t keys) {
  return window ? max64(0, min64(keys, row - window + 1 - key0)) : 0;
}
// The first key that queries from `row` on see.
inline int64_t first_key(int64_t window, int64_t row) { return window ? max64(0, row - window + 1) : 0; }

// The first word of a run that includes k number `first`.
inline int64_t first_word(Words words, int64_t first) {
  const int64_t word = words == Words::pairs ? first / 2 : first;
  return kHasTiles && words == Words::pairs ? word / kTileWords * kTileWords : word;
}

// MR rows as the left operand: packed, or words in place, in rows of `lda`.
struct Left {
  const uint32_t* at;
  int64_t lda;
};

// MR rows of a product over words [from, to); `left` starts at the first of them.
struct Strip {
  Left left;
  int64_t from, to;
  float* sums;
};

// sums (rows, width) += left · `n` words packed by pack_down. A panel of the right side stays in the
// first-level cache while all strips are multiplied with it.
template <class StripOf>
inline void multiply_down(const Sizes& s, int64_t rows, const uint32_t* right, int64_t n, StripOf strip_of) {
  for (int64_t column = 0; column < s.width; column += NR) {
    const int64_t nv = min64(kVectors, ceil_div(s.width - column, VL)), stride = nv * VL;
    for (int64_t i = 0; i < rows; i += MR) {
      const Strip strip = strip_of(i);
      if (strip.from >= strip.to) continue;
      const uint32_t* b = right + column * n + strip.from * stride;
      if (strip.left.lda)
        run_micro_in_place(int(nv), strip.to - strip.from, strip.left.at, strip.left.lda, b, stride,
            strip.sums + column, s.padded, true);
      else
        run_micro(s.pairs, rows - i, int(nv), strip.to - strip.from, strip.left.at, b, stride,
            strip.sums + column, s.padded, true);
    }
  }
}

// tile (queries, keys) = left · rightᵀ from query `row` and key `key0` of a document on. Panels of keys that
// no query of a strip sees are not written.
inline void scores(const Sizes& s, const uint32_t* left, int64_t row, int64_t rows, const uint32_t* right,
    int64_t key0, int64_t keys, float* tile) {
  for (int64_t panel = 0; panel * NR < keys; panel++)
    for (int64_t i = max64(0, key0 + panel * NR - row) / MR * MR; i < rows; i += MR)
      run_micro(s.pairs, rows - i, kVectors, s.width_words, left + i * s.width_words,
          right + panel * NR * s.width_words, NR, tile + i * s.tile.keys + panel * NR, s.tile.keys, false);
}

// Scales and caps the first `count` products of a row, up to a whole vector. Scores are then final.
inline void cap_scores(const Sizes& s, float* z, int64_t count) {
  const vf inner = splat(s.scale / s.cap), cap = splat(s.cap);
  for (int64_t c = 0; c < count; c += VL) store(z + c, tanh(load(z + c) * inner) * cap);
}
// The factor of scores in a tile: capped ones are scaled already.
inline float factor_of(const Sizes& s) { return s.cap == 0 ? s.scale : 1; }

// Stores weights: as bf16 if they are multiplied in place, otherwise over their scores.
inline void put(bool pairs, bf16* to16, float* to32, vf value) {
  if (pairs) store_normal(to16, value);
  else store(to32, value);
}
inline void put_zeros(bool pairs, bf16* to16, float* to32, int64_t n) {
  if (pairs) std::memset(to16, 0, size_t(n) * 2);
  else std::memset(to32, 0, size_t(n) * 4);
}

}  // namespace

}  // namespace cairn::CAIRN_ISA
