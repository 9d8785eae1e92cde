// The two products of attention for few queries, over keys and values in place. Every sum is the same chain
// as the micro-kernel's for packed ones.
#pragma once
#include "paged_cache.h"

namespace cairn {
namespace {

// Maximum queries that keep their sums in registers.
constexpr int64_t kFewQueries = 8;
// Sums that fit in registers beside the operands; enough to hide the latency of an addition.
constexpr int kSums = kRegisterRows == 8 ? 16 : 8;
constexpr Words kBf16Words = kHasBf16Dot ? Words::pairs : Words::rounded;

// Heads that are not whole vectors are packed.
inline bool can_lie(const Pages& p) { return p.width % VL == 0; }

// sum + the numbers of words b times those of a at `word`, in the arithmetic's format.
template <Words words>
inline vf multiply_words(vf sum, const uint32_t* a, int64_t word, vu b) {
  if constexpr (words == Words::rounded)
    return multiply_add<false>(
        multiply_add<false>(sum, a[2 * word], first_of(b)), a[2 * word + 1], second_of(b));
  else return multiply_add<words == Words::pairs>(sum, a[word], b);
}

// Prefetches the keys and values of some heads, a few cache lines per step of the current work.
struct Prefetch {
  const Pages& p;
  const Tensor &keys, &values;
  const int32_t* table;
  int64_t first, heads, key = 0, end = 0, lines = 0, rows_left = 0, row_left = 0;
  const char *k = nullptr, *v = nullptr;

  // Cache lines of the heads' share in one row of a block of values. A block of keys has as many for each of
  // those rows.
  int64_t row_lines() const { return ceil_div(heads * p.width, 16); }
  int64_t rows_of_block() const { return p.block / p.per; }

  // Aims at keys `from` to `to`, in `steps` steps.
  void aim(int64_t from, int64_t to, int64_t steps) {
    key = from, end = to;
    lines = ceil_div(ceil_div(max64(0, to - from), p.block) * rows_of_block() * row_lines(), steps);
    if (key < end) start_block();
  }
  void step() {
    for (int64_t i = lines; i > 0 && key < end; i--) {
      __builtin_prefetch(k, 0, 2);
      __builtin_prefetch(v, 0, 2);
      k += 64, v += 64;
      if (--row_left == 0) next_row();
    }
  }

 private:
  void start_block() {
    k = reinterpret_cast<const char*>(key_at(p, keys, table, key, first)),
    v = reinterpret_cast<const char*>(value_at(p, values, table, key, first));
    rows_left = rows_of_block(), row_left = row_lines();
  }
  void next_row() {
    v += (p.columns - heads * p.width) * 4;
    row_left = row_lines();
    if (--rows_left > 0) return;
    key += p.block;
    if (key < end) start_block();
  }
};

template <int R>
constexpr int kGroups = R > 4   ? kSums / 8
                        : R > 2 ? kSums / 5
                        : R > 1 ? (kSums > 8 ? 6 : 3)
                                : 6;
template <int R>
constexpr int kColumns = kSums / R > 8 ? 8 : kSums / R;

// Approximate steps of one head's products for `keys` keys.
inline int64_t steps_of(const Pages& p, int64_t keys) { return p.head_words + ceil_div(keys, p.per); }

// Some groups of VL keys side by side.
template <Words words, int R, int groups = kGroups<R>>
void score_few(const Pages& p, const Tensor& k, const int32_t* table, int64_t head, int64_t key0,
    int64_t keys, Prefetch& prefetch, const uint32_t* const* q, float* grid) {
  static_assert(BC % (groups * VL) == 0);
  for (int64_t i = 0; i < keys; i += groups * VL) {
    const uint32_t* at[groups];
    // Groups beyond the last repeat it; their columns of the grid are unused.
    for (int64_t g = 0; g < groups; g++)
      at[g] = key_at(p, k, table, key0 + min64(i + g * VL, (keys - 1) / VL * VL), head);
    vf sum[R][groups] = {};
    for (int64_t word = 0; word < p.head_words; word++) {
      prefetch.step();
#pragma GCC unroll 8
      for (int g = 0; g < groups; g++) {
        const vu b = load_as<vu>(at[g] + word * p.block);
#pragma GCC unroll 8
        for (int j = 0; j < R; j++) sum[j][g] = multiply_words<words>(sum[j][g], q[j], word, b);
      }
    }
    for (int j = 0; j < R; j++)
      for (int g = 0; g < groups; g++) store(grid + j * BC + i + g * VL, sum[j][g]);
  }
}

// nv vectors of the head. `weights` has `stride` words per query.
template <Words words, int R, int nv>
void sum_few(const Pages& p, const Tensor& v, const int32_t* table, int64_t head, int64_t key0, int64_t keys,
    Prefetch& prefetch, const uint32_t* weights, int64_t stride, int64_t column, float* sums) {
  vf sum[R][nv];
  for (int i = 0; i < R; i++)
    for (int j = 0; j < nv; j++) sum[i][j] = load(sums + i * p.padded + column + j * VL);
  for (int64_t first = 0; first < keys; first += VL) {
    const uint32_t* at = value_at(p, v, table, key0 + first, head) + column;
    const int64_t last = min64(keys, first + VL);
    for (int64_t key = first; key < last; key += p.per, at += p.columns) {
      prefetch.step();
      // A key beyond the last may hold anything, even NaN.
      const vu there = key + p.per > last ? vu{} + 0xffff : vu{} + 0xffffffff;
#pragma GCC unroll 8
      for (int j = 0; j < nv; j++) {
        const vu b = load_as<vu>(at + j * VL) & there;
#pragma GCC unroll 8
        for (int i = 0; i < R; i++)
          sum[i][j] = multiply_words<words>(sum[i][j], weights + i * stride, key / p.per, b);
      }
    }
  }
  for (int i = 0; i < R; i++)
    for (int j = 0; j < nv; j++) store(sums + i * p.padded + column + j * VL, sum[i][j]);
}

// Processes as many vectors at a time as leave registers for their sums.
template <Words words, int R, int nv = kColumns<R>>
void sum_all(const Pages& p, const Tensor& v, const int32_t* table, int64_t head, int64_t key0, int64_t keys,
    Prefetch& prefetch, const uint32_t* weights, int64_t stride, float* sums, int64_t column = 0) {
  for (; column + nv * VL <= p.width; column += nv * VL)
    sum_few<words, R, nv>(p, v, table, head, key0, keys, prefetch, weights, stride, column, sums);
  if constexpr (nv > 1)
    sum_all<words, R, nv / 2>(p, v, table, head, key0, keys, prefetch, weights, stride, sums, column);
}

template <int n>
struct Count {
  static constexpr int value = n;
};
template <Words w>
struct Kind {
  static constexpr Words words = w;
};

// Calls body with constants: the kind of words, and the smallest of 1, 2, 4, 8 that is at least `queries`.
template <class Body>
inline void with_queries(Words words, int64_t queries, Body body) {
  const auto count = [&](auto kind) {
    if (queries > 4) body(kind, Count<8>());
    else if (queries > 2) body(kind, Count<4>());
    else if (queries > 1) body(kind, Count<2>());
    else body(kind, Count<1>());
  };
  if (words == Words::f32) count(Kind<Words::f32>());
  else count(Kind<kBf16Words>());
}

// grid (queries, BC) = queries times keys.
inline void score_in_place(const Pages& p, const Tensor& k, const int32_t* table, int64_t head, int64_t key0,
    int64_t keys, Prefetch& prefetch, const uint32_t* const* q, int64_t queries, float* grid) {
  // Queries beyond the last repeat it; their rows of the grid are unused.
  const uint32_t* all[kFewQueries];
  for (int64_t i = 0; i < kFewQueries; i++) all[i] = q[min64(i, queries - 1)];
  with_queries(p.words, queries, [&](auto kind, auto R) {
    score_few<kind.words, R.value>(p, k, table, head, key0, keys, prefetch, all, grid);
  });
}

// sums (queries, padded) += weights in grid, rounded to the arithmetic, times values. Rounded weights other
// than pairs replace those in the grid.
inline void sum_in_place(const Pages& p, const Tensor& v, const int32_t* table, int64_t head, int64_t key0,
    int64_t keys, Prefetch& prefetch, float* grid, int64_t queries, uint32_t* scratch, float* sums) {
  const int64_t padded = ceil_div(keys, VL) * VL, stride = p.pairs() ? padded / 2 : BC;
  uint32_t* weights = p.pairs() ? scratch : reinterpret_cast<uint32_t*>(grid);
  for (int64_t i = 0; i < queries && p.words != Words::f32; i++)
    for (int64_t c = 0; c < keys; c += VL) {
      if (p.pairs()) store(reinterpret_cast<bf16*>(weights + i * stride) + c, load(grid + i * BC + c));
      else store(grid + i * BC + c, round_bf16(load(grid + i * BC + c)));
    }
  with_queries(p.words, queries, [&](auto kind, auto R) {
    sum_all<kind.words, R.value>(p, v, table, head, key0, keys, prefetch, weights, stride, sums);
  });
}

}  // namespace
}  // namespace cairn
