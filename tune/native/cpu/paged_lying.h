// The sizes of attention over a cache, and its two products for few queries: bf16 keys and values are read where they lie, turned in registers and
// multiplied there. Every sum is the chain that the micro-kernel makes of packed ones.
#pragma once
#include <stdexcept>

#include "micro.h"

namespace cairn {
namespace {

constexpr int64_t BC = 2 * NR;        // keys in a tile
constexpr int64_t kQueries = 64;      // rows of the left operand
constexpr int64_t kSpanNumbers = 3;

struct Pages {
  int64_t heads, kv_heads, group, width, padded, block, blocks;
  float scale;
  Words words;
  bool pairs;
  int64_t width_words, key_words;

  Pages(const Tensor& q, const Tensor& tables, const PagedAttentionAttrs& a)
      : heads(a.heads), kv_heads(a.kv_heads), group(a.heads / a.kv_heads), width(q.dims[1] / a.heads), padded(ceil_div(width, VL) * VL), block(a.block), blocks(tables.dims[1]), scale(a.scale),
        words(words_for(q.dtype == Dtype::bf16 ? Arithmetic::bf16 : Arithmetic::f32)), pairs(words == Words::pairs), width_words(word_count(words, width)), key_words(word_count(words, BC)) {
    if (heads % kv_heads) throw std::runtime_error("heads must be a multiple of kv_heads");
    if (group > kQueries) throw std::runtime_error("more than 64 query heads read one key head");
    if (block < 1 || block % VL) throw std::runtime_error("a block must be whole vectors");
  }
  int64_t rows_per_tile() const { return kQueries / group; }
};

struct Span {
  int64_t first, rows, before;
  const int32_t* table;
};

// Queries that keep their sums in registers.
constexpr int64_t kFewQueries = 8;

inline bool can_lie(const Pages& p, const Tensor& k, const Tensor& v) {
  return p.pairs && k.dtype == Dtype::bf16 && v.dtype == Dtype::bf16 && p.width % (2 * VL) == 0;
}

// Where key (or value) `key` of a span lies.
inline const char* row_at(const Pages& p, const Stored& cache, const int32_t* table, int64_t key) {
  return cache.part[0] + (table[key / p.block] * p.block + key % p.block) * cache.columns * 2;
}

// Brings the keys and values of some heads nearer, a few lines with each step of the work on those before them. Where that is all heads, they are one
// stretch of memory for each block.
struct Ahead {
  const Pages& p;
  Stored keys, values;
  const int32_t* table;
  int64_t row_bytes, key = 0, end = 0, byte = 0, lines = 0;
  const char *k = nullptr, *v = nullptr;

  // From key `from` to `to` in `steps` steps.
  void aim(int64_t from, int64_t to, int64_t steps) {
    key = from, end = to, byte = 0;
    lines = ceil_div(max64(0, to - from) * ceil_div(row_bytes, 64), steps);
  }
  void step() {
    for (int64_t i = 0; i < lines && key < end; i++) {
      if (byte == 0) k = row_at(p, keys, table, key), v = row_at(p, values, table, key);
      __builtin_prefetch(k + byte, 0, 2);
      __builtin_prefetch(v + byte, 0, 2);
      byte += 64;
      if (byte >= row_bytes) byte = 0, key++;
    }
  }
};

// Steps that one head's products make for `keys` keys, about.
inline int64_t steps_of(const Pages& p, int64_t keys) { return ceil_div(keys, VL) * (p.width_words / VL + 1); }

template <int R>
void score_few(const Pages& p, const Stored& cache, const int32_t* table, int64_t key0, int64_t keys, Ahead& ahead, const uint32_t* const* q, float* grid) {
  for (int64_t i = 0; i < keys; i += VL) {
    // A block is whole vectors, so all VL rows are there, written or not.
    const char* at = row_at(p, cache, table, key0 + i);
    vf sum[R] = {};
    for (int64_t word = 0; word < p.width_words; word += VL) {
      vu r[VL];
#pragma GCC unroll 16
      for (int j = 0; j < VL; j++) r[j] = load_as<vu>(at + j * cache.columns * 2 + word * 4);
      ahead.step();
      transpose(r);
#pragma GCC unroll 16
      for (int w = 0; w < VL; w++)
#pragma GCC unroll 8
        for (int j = 0; j < R; j++) sum[j] = multiply_add<kHasBf16Dot>(sum[j], q[j][word + w], r[w]);
    }
    for (int j = 0; j < R; j++) store(grid + j * BC + i, sum[j]);
  }
}

// VL codes of bf16 as words.
inline vu spread(const char* codes) {
#if defined(__AVX512F__)
  return (vu)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)));
#else
  return __builtin_convertvector(load_as<vh>(codes), vu);
#endif
}

// nv vectors of the head; `weights` has words of `stride` to a query.
template <int R, int nv>
void sum_few(const Pages& p, const Stored& cache, const int32_t* table, int64_t key0, int64_t keys, Ahead& ahead, const uint32_t* weights, int64_t stride, int64_t column, float* sums) {
  vf sum[R][nv];
  for (int i = 0; i < R; i++)
    for (int j = 0; j < nv; j++) sum[i][j] = load(sums + i * p.padded + column + j * VL);
  const int64_t row = cache.columns * 2;
  for (int64_t first = 0; first < keys; first += VL) {
    const char* at = row_at(p, cache, table, key0 + first) + column * 2;
    ahead.step();
    for (int64_t key = first; key < min64(keys, first + VL); key += 2, at += 2 * row) {
      const bool is_pair = key + 1 < keys;
      vu words[nv];
#pragma GCC unroll 8
      for (int j = 0; j < nv; j++) {
        words[j] = spread(at + j * VL * 2);
        // A key beyond the last may hold anything, a NaN too.
        if (is_pair) words[j] |= spread(at + row + j * VL * 2) << 16;
      }
#pragma GCC unroll 8
      for (int i = 0; i < R; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++) sum[i][j] = multiply_add<kHasBf16Dot>(sum[i][j], weights[i * stride + key / 2], words[j]);
    }
  }
  for (int i = 0; i < R; i++)
    for (int j = 0; j < nv; j++) store(sums + i * p.padded + column + j * VL, sum[i][j]);
}

// As many vectors at a time as leave room for their sums.
template <int R, int nv = (R > 4 ? 2 : R > 2 ? 4 : 8)>
void sum_all(const Pages& p, const Stored& cache, const int32_t* table, int64_t key0, int64_t keys, Ahead& ahead, const uint32_t* weights, int64_t stride, float* sums, int64_t column = 0) {
  for (; column + nv * VL <= p.width; column += nv * VL) sum_few<R, nv>(p, cache, table, key0, keys, ahead, weights, stride, column, sums);
  if constexpr (nv > 1) sum_all<R, nv / 2>(p, cache, table, key0, keys, ahead, weights, stride, sums, column);
}

template <int n>
struct Count {
  static constexpr int value = n;
};

// Calls body with 1, 2, 4 or 8, as many as `queries` at least, as a constant.
template <class Body>
inline void with_queries(int64_t queries, Body body) {
  if (queries > 4) body(Count<8>());
  else if (queries > 2) body(Count<4>());
  else if (queries > 1) body(Count<2>());
  else body(Count<1>());
}

// grid (queries, BC) = queries times keys.
inline void score_lying(const Pages& p, const Stored& cache, const int32_t* table, int64_t key0, int64_t keys, Ahead& ahead, const uint32_t* const* q, int64_t queries, float* grid) {
  // Queries beyond the last repeat it; their rows of the grid are nobody's.
  const uint32_t* all[kFewQueries];
  for (int64_t i = 0; i < kFewQueries; i++) all[i] = q[min64(i, queries - 1)];
  with_queries(queries, [&](auto R) { score_few<R.value>(p, cache, table, key0, keys, ahead, all, grid); });
}

// sums (queries, padded) += weights in grid, rounded to bf16, times values.
inline void sum_lying(const Pages& p, const Stored& cache, const int32_t* table, int64_t key0, int64_t keys, Ahead& ahead, const float* grid, int64_t queries, uint32_t* weights, float* sums) {
  const int64_t stride = ceil_div(keys, VL) * VL / 2;
  for (int64_t i = 0; i < queries; i++)
    for (int64_t c = 0; c < keys; c += VL) store(reinterpret_cast<bf16*>(weights + i * stride) + c, load(grid + i * BC + c));
  with_queries(queries, [&](auto R) { sum_all<R.value>(p, cache, table, key0, keys, ahead, weights, stride, sums); });
}

}  // namespace
}  // namespace cairn
