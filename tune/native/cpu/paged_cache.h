// The layout of keys and values in a cache, and the parameters of attention over it.
//
// A word of a cache is two bf16 or one f32. A block of keys has one word of all its rows side by side; a
// block of values has a word of every column side by side, and a word pairs two rows. So both products of
// attention read whole vectors in place, without transposing.
#pragma once
#include <stdexcept>

#include "micro.h"

namespace cairn {
namespace {

constexpr int64_t BC = 6 * VL;    // keys in a tile
constexpr int64_t kQueries = 64;  // rows of the left operand
constexpr int64_t kSpanNumbers = 3;

// Numbers in a word of a cache.
inline int64_t numbers_a_word(Dtype dtype) { return dtype == Dtype::bf16 ? 2 : 1; }

// Throws if a cache of `rows` rows of `columns` numbers cannot be divided into blocks of `block` rows.
inline void check_cache(Dtype dtype, int64_t rows, int64_t columns, int64_t block) {
  if (block < 1 || block % 16 || rows % block)
    throw std::runtime_error("a cache must be whole blocks, and a block whole sixteens of rows");
  if (columns % numbers_a_word(dtype)) throw std::runtime_error("a row of a cache must be whole words");
}

struct Pages {
  int64_t heads, kv_heads, group, width, padded, block, blocks;
  float scale, cap;  // of scores; a cap of 0 means none
  int64_t window;
  Words words;
  // Words of the arithmetic in a head and in a tile of keys; words of the cache in a head, a row and a block.
  int64_t width_words, key_words, per, head_words, columns, block_words;

  Pages(const Tensor& q, const Tensor& k, const Tensor& tables, const PagedAttentionAttrs& a)
      : heads(a.heads),
        kv_heads(a.kv_heads),
        group(a.heads / a.kv_heads),
        width(q.dims[1] / a.heads),
        padded(ceil_div(width, VL) * VL),
        block(a.block),
        blocks(tables.dims[1]),
        scale(a.scale),
        cap(a.softcap),
        window(a.window),
        words(words_for(q.dtype == Dtype::bf16 ? Arithmetic::bf16 : Arithmetic::f32)),
        width_words(word_count(words, width)),
        key_words(word_count(words, BC)),
        per(numbers_a_word(q.dtype)),
        head_words(width / per),
        columns(kv_heads * width),
        block_words(block * columns / per) {
    if (heads % kv_heads) throw std::runtime_error("heads must be a multiple of kv_heads");
    if (group > kQueries) throw std::runtime_error("more than 64 query heads read one key head");
    if (width % per) throw std::runtime_error("a head must be whole words");
    check_cache(q.dtype, k.dims[0], columns, block);
  }
  bool pairs() const { return words == Words::pairs; }
  int64_t rows_per_tile() const { return kQueries / group; }
};

struct Span {
  int64_t first, rows, before;
  const int32_t* table;
};

// The first word of a head for a key of a span. The next word is `block` words further, that of the next key
// in the block one further.
inline const uint32_t* key_at(
    const Pages& p, const Tensor& k, const int32_t* table, int64_t key, int64_t head) {
  return reinterpret_cast<const uint32_t*>(k.data) + table[key / p.block] * p.block_words +
         head * p.head_words * p.block + key % p.block;
}

// The first word of a head for a value, and the one after it if words are pairs. The next words are `columns`
// further.
inline const uint32_t* value_at(
    const Pages& p, const Tensor& v, const int32_t* table, int64_t key, int64_t head) {
  return reinterpret_cast<const uint32_t*>(v.data) + table[key / p.block] * p.block_words +
         key % p.block / p.per * p.columns + head * p.width;
}

// The two numbers of words of bf16, each as f32.
inline vu first_of(vu words) { return words << 16; }
inline vu second_of(vu words) { return words & 0xffff0000; }

// n words from `from` on, padded with zeros.
inline vu load_some(const uint32_t* from, int64_t n) {
  if (n >= VL) return load_as<vu>(from);
  vu some{};
  std::memcpy(&some, from, size_t(n) * 4);
  return some;
}

// Keys [key0, key0 + keys) of a head as the right operand, k along the head: panels of NR keys.
inline void pack_keys(const Pages& p, const Tensor& k, int64_t head, const int32_t* table, int64_t key0,
    int64_t keys, uint32_t* to) {
  for (int64_t i = 0; i < keys; i += VL) {
    const uint32_t* from = key_at(p, k, table, key0 + i, head);
    uint32_t* out = to + i / NR * NR * p.width_words + i % NR;
    for (int64_t word = 0; word < p.head_words; word++, from += p.block) {
      // A block is whole vectors, so all VL keys exist in memory, written or not.
      const vu all = load_as<vu>(from);
      store_as(out, p.words == Words::rounded ? first_of(all) : all);
      out += NR;
      if (p.words != Words::rounded) continue;
      store_as(out, second_of(all));
      out += NR;
    }
  }
}

// Values as the right operand, k down the keys.
inline void pack_values(const Pages& p, const Tensor& v, int64_t head, const int32_t* table, int64_t key0,
    int64_t keys, uint32_t* to) {
  const int64_t n = word_count(p.words, keys);
  for (int64_t column = 0; column < p.width; column += NR) {
    const int64_t nv = ceil_div(min64(NR, p.width - column), VL);
    uint32_t* out = to + column * n;
    for (int64_t key = 0; key < keys; key += p.per) {
      const uint32_t* from = value_at(p, v, table, key0 + key, head) + column;
      const bool is_half = p.per == 2 && key + 1 == keys;
      for (int64_t j = 0; j < nv; j++) {
        const vu all = load_some(from + j * VL, p.width - column - j * VL);
        // A key beyond the last may hold anything, even NaN.
        store_as(out + j * VL, p.words == Words::rounded ? first_of(all) : is_half ? all & 0xffff : all);
        if (p.words == Words::rounded && !is_half) store_as(out + (nv + j) * VL, second_of(all));
      }
      out += nv * VL * (p.words == Words::rounded && !is_half ? 2 : 1);
    }
  }
}

}  // namespace
}  // namespace cairn
