// y = alpha · x·wᵀ + addend for few rows of x, as in decoding. The time goes into reading the weights, so
// they are read once, in order, and never written.
//
// Interleaved weights (bf16_vnni) are multiplied in place, for any number of rows: a stretch of a panel is
// loaded into the first-level cache with the first rows that use it.
//
// In other layouts each column of the result is a row of the weights. Hardware prefetchers cannot follow that
// many streams a few kilobytes apart, so the next data is prefetched explicitly, in order of memory, during
// the current work. With very few rows a vector of columns is transposed in registers and multiplied there.
// With more, a panel of columns is packed a short stretch of k at a time into the first-level cache, and
// multiplied with all rows. There is one parallel section where gemm needs two for every 24 panels. Each
// number of the result is the same chain of sums over k as in gemm, so the choice among the three kernels
// changes no bit.
#include "gemm_stream_nt.h"

#include "finish.h"
#include "transposed.h"

namespace cairn::CAIRN_ISA {

namespace {

// Words of k in a stretch. A panel of 48 columns then takes 24 KiB.
constexpr int64_t kStretch = 128;
// Maximum rows whose sums stay in registers beside a vector of columns that is transposed there.
constexpr int64_t kTransposedRows = 8;
// Maximum panels of a task, and tasks per thread if there are enough panels.
constexpr int64_t kTaskPanels = 8;
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kCacheLine = 64;
// Words of k between two prefetch steps.
constexpr int64_t kStepWords = 4;
// Rows of a that are multiplied with a panel before the next one is loaded, so that they stay in a nearer
// cache.
constexpr int64_t kRowBlock = 256;

// Rows of a as words, `stride` apart. For the matrix unit in strips, whose rows are `stride` words long.
struct Left {
  const uint32_t* words;
  int64_t stride;
  const uint32_t* row(int64_t i) const { return words + i * stride; }
};

inline int64_t padded_words(const Gemm& g) { return ceil_div(max64(words_of(g), 1), VL) * VL; }
// Whether the rows of a are stored as words.
inline bool in_place(const Gemm& g) {
  const Stored& s = g.pair[0].a.stored;
  return !kHasTiles && words_for(g.arithmetic) == Words::pairs && s.dtype == Dtype::bf16 &&
         s.rounding.format == Rounding::none && g.pair[0].k % 2 == 0 && s.columns % 2 == 0;
}
// Whether a is packed for the matrix unit.
inline bool has_tiles(const Gemm& g) { return kHasTiles && words_for(g.arithmetic) == Words::pairs; }
// Whether words of b can be transposed in registers and multiplied there.
inline bool has_pairs(const Gemm& g) {
  return !kHasTiles && words_for(g.arithmetic) == Words::pairs && g.pair[0].b.stored.dtype == Dtype::bf16;
}

// Whether b is stored as interleaved words, in whole runs.
inline bool has_vnni(const Gemm& g) {
  return kHasBf16Dot && words_for(g.arithmetic) == Words::pairs &&
         g.pair[0].b.stored.dtype == Dtype::bf16_vnni && words_of(g) * 2 - g.pair[0].k < 2;
}

inline int64_t a_rows(const Gemm& g) { return has_tiles(g) ? padded_rows(g.m) : g.m; }
inline size_t a_bytes(const Gemm& g) { return in_place(g) ? 0 : size_t(a_rows(g) * padded_words(g)) * 4; }
inline size_t own_bytes(const Gemm& g) { return size_t(NR * (kStretch + min64(a_rows(g), kRowBlock))) * 4; }

inline int64_t strips_of(int64_t rows) { return ceil_div(rows, int64_t(kRegisterRows)); }

// Bytes of a matrix row, for its numbers alone.
inline int64_t row_bytes(const Stored& s) {
  if (s.dtype == Dtype::f32) return s.columns * 4;
  if (s.dtype == Dtype::bf16) return s.columns * 2;
  if (s.dtype == Dtype::bf16_vnni) return s.columns * 2;
  return is_nibbles(s.dtype) ? s.columns / 2 : s.columns;
}

// Prefetches the next rows of b, a few cache lines per step of the current work: issuing more at once would
// only fill the line-fill buffers.
struct Prefetch {
  const char *at, *end;
  int64_t lines;

  // Starts with `rows` rows from `row0` on, in `steps` steps.
  Prefetch(const Stored& b, int64_t row0, int64_t rows, int64_t steps) {
    at = b.part[0] + row0 * row_bytes(b), end = at + max64(rows, 0) * row_bytes(b);
    lines = ceil_div(ceil_div(max64(end - at, 0), kCacheLine), max64(steps, 1));
  }
  void step() {
    for (int64_t i = 0; i < lines; i++, at += kCacheLine) __builtin_prefetch(at, 0, 2);
  }
};

// Words of a panel: VL columns of one word side by side, with the distances to the next word and the next VL
// columns.
struct Panel {
  const uint32_t* words;
  int64_t word, group;
};

// c (R, nv·VL) = or += a·bᵀ over n words of rows of a.
template <bool pairs, int nv, int R>
[[gnu::noinline]] void strip(int64_t n, const uint32_t* __restrict a, int64_t lda, const Panel& b,
    float* __restrict c, bool add, Prefetch& next) {
  Prefetch prefetch = next;
  const uint32_t* at[nv];
  for (int j = 0; j < nv; j++) at[j] = b.words + j * b.group;
  const int64_t step = b.word;
  vf sum[R][nv];
#pragma GCC unroll 8
  for (int i = 0; i < R; i++)
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) sum[i][j] = add ? load(c + i * NR + j * VL) : vf{};
  for (int64_t k = 0; k < n; k++) {
    if (k % kStepWords == 0) prefetch.step();
    vu row[nv];
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) row[j] = load_as<vu>(at[j] + k * step);
#pragma GCC unroll 8
    for (int i = 0; i < R; i++)
#pragma GCC unroll 3
      for (int j = 0; j < nv; j++) sum[i][j] = multiply_add<pairs>(sum[i][j], a[i * lda + k], row[j]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; i++)
#pragma GCC unroll 3
    for (int j = 0; j < nv; j++) store(c + i * NR + j * VL, sum[i][j]);
  next = prefetch;
}

template <bool pairs, int nv, int R = kRegisterRows>
inline void run_strip(int64_t rows, int64_t n, const uint32_t* a, int64_t lda, const Panel& b, float* c,
    bool add, Prefetch& prefetch) {
  if constexpr (R > 1)
    if (rows < R) return run_strip<pairs, nv, R - 1>(rows, n, a, lda, b, c, add, prefetch);
  strip<pairs, nv, R>(n, a, lda, b, c, add, prefetch);
}

// Multiplies rows [row0, row0 + rows) with one stretch of a panel, in strips of nearly equal size, so that no
// strip is padded.
template <bool pairs, int nv>
void pass_by(const Left& a, int64_t row0, int64_t rows, int64_t from, int64_t n, const Panel& b,
    Prefetch& prefetch, float* sums) {
  const int64_t strips = strips_of(rows);
#if defined(__AMX_BF16__)
  if constexpr (pairs) {
    for (int64_t i = 0; i < rows; i += MR)
      run_tiles(rows - i, nv, n,
          {a.row(row0 + i) + from * MR, kTileWords, MR * kTileWords, kTileRows * kTileWords},
          {b.words, b.word, b.group}, sums + i * NR, NR, from > 0, [&] {
            for (int64_t word = 0; word < kTileWords; word += kStepWords) prefetch.step();
          });
    return;
  }
#endif
  for (int64_t s = 0; s < strips; s++) {
    const int64_t first = rows * s / strips, last = rows * (s + 1) / strips;
    run_strip<pairs, nv>(
        last - first, n, a.row(row0 + first) + from, a.stride, b, sums + first * NR, from > 0, prefetch);
  }
}

inline void finish(
    const Gemm& g, const float* sums, int64_t row0, int64_t rows, int64_t column, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    finish_row(g, words_for(g.arithmetic) == Words::pairs, (row0 + i) * g.n + column, columns, sums + i * NR);
}

// Processes one panel of columns through the first-level cache, stretch by stretch.
template <int nv>
void multiply_panel(const Gemm& g, const Left& a, int64_t row0, int64_t rows, int64_t column, int64_t columns,
    Prefetch prefetch, uint32_t* b, float* sums) {
  const Words words = words_for(g.arithmetic);
  const int64_t per = words == Words::pairs ? 2 : 1, k = g.pair[0].k, count = words_of(g);
  for (int64_t from = 0; from < max64(count, 1); from += kStretch) {
    const int64_t n = min64(kStretch, count - from), k0 = from * per;
    Panel panel{b, nv * VL, VL};
    if (has_vnni(g))
      panel = {vnni_row(g.pair[0].b.stored, column) + from * kVnniRows, kVnniRows, count * kVnniRows};
    else if (has_pairs(g)) transpose_panel<nv>(g, column, columns, from, n, b);
    else pack<nv * VL>(words, g.pair[0].b, column, columns, k0, min64(k - k0, n * per), b, 0);
    if (words == Words::pairs) pass_by<kHasBf16Dot, nv>(a, row0, rows, from, n, panel, prefetch, sums);
    else pass_by<false, nv>(a, row0, rows, from, n, panel, prefetch, sums);
  }
}

// VL columns whose transposed words are multiplied in registers.
template <int R>
void multiply_transposed(
    const Gemm& g, const Left& a, int64_t column, int64_t columns, Prefetch prefetch, float* sums) {
  const Columns group(g, column, columns);
  const int64_t count = words_of(g), whole = group.whole(count);
  vf sum[R] = {};
  vu r[VL];
  int64_t word = 0;
  for (; word < whole; word += VL) {
    group.load_transposed(word, r);
    prefetch.step();
#pragma GCC unroll 16
    for (int w = 0; w < VL; w++)
#pragma GCC unroll 8
      for (int i = 0; i < R; i++) sum[i] = multiply_add<kHasBf16Dot>(sum[i], a.row(i)[word + w], r[w]);
  }
  if (word < count) {
    group.transpose_rest(word, r);
    for (int64_t w = 0; w < count - word; w++)
      for (int i = 0; i < R; i++) sum[i] = multiply_add<kHasBf16Dot>(sum[i], a.row(i)[word + w], r[w]);
  }
  for (int i = 0; i < R; i++) store(sums + i * NR, sum[i]);
}

template <int R = kTransposedRows>
inline void run_transposed(
    const Gemm& g, const Left& a, int64_t column, int64_t columns, Prefetch prefetch, float* sums) {
  if constexpr (R > 1)
    if (g.m < R) return run_transposed<R - 1>(g, a, column, columns, prefetch, sums);
  multiply_transposed<R>(g, a, column, columns, prefetch, sums);
}

template <Words words>
inline void row_to_words(const Stored& s, int64_t row, int64_t k, uint32_t* to) {
  constexpr int64_t per = words == Words::pairs ? 2 : 1;
  const int64_t count = word_count(words, k);
  for (int64_t at = 0; at < count; at += kDecodeSpan) {
    const int64_t n = min64(kDecodeSpan, count - at);
    row_words<words>(s, row, at * per, min64(k - at * per, n * per), ceil_div(n, VL) * VL, to + at);
  }
}

Left left_tiles(const Call& call, const Gemm& g) {
  const int64_t stride = words_of(g);
  uint32_t* to = static_cast<uint32_t*>(shared_scratch(call.scratch, kGemmA, a_bytes(g)));
  parallel_spans(call, g.m, 4 * MR, [&](int64_t first, int64_t last, int) {
    pack_strips(
        Words::pairs, g.pair[0].a, first, last - first, 0, g.pair[0].k, to + first * stride, stride * MR);
  });
  return {to, stride};
}

Left left_of(const Call& call, const Gemm& g) {
  const Stored& s = g.pair[0].a.stored;
  if (in_place(g)) return {reinterpret_cast<const uint32_t*>(s.part[0]), s.columns / 2};
  const Words words = words_for(g.arithmetic);
  const int64_t stride = padded_words(g);
  if (has_tiles(g)) return left_tiles(call, g);
  uint32_t* to = static_cast<uint32_t*>(shared_scratch(call.scratch, kGemmA, a_bytes(g)));
  for (int64_t i = 0; i < g.m; i++) {
    if (words == Words::pairs) row_to_words<Words::pairs>(s, i, g.pair[0].k, to + i * stride);
    else if (words == Words::rounded) row_to_words<Words::rounded>(s, i, g.pair[0].k, to + i * stride);
    else row_to_words<Words::f32>(s, i, g.pair[0].k, to + i * stride);
  }
  return {to, stride};
}

}  // namespace

bool streams_nt(const Gemm& g) {
  return (g.m <= kStreamNtRows || (has_vnni(g) && (in_place(g) || kHasTiles))) && g.pair[1].k == 0 &&
         !g.is_scaled && !g.is_transposed && g.pair[0].a.k_in_row && g.pair[0].b.k_in_row;
}

void gemm_stream_nt_scratch(const Gemm& g, ScratchSizes& sizes) {
  if (g.m == 0 || g.n == 0) return;
  if (!in_place(g)) sizes.add_shared(kGemmA, a_bytes(g));
  sizes.add_own(kGemmTile, own_bytes(g));
}

void gemm_stream_nt(const Call& call, const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  const Left a = left_of(call, g);
  const Stored& stored = g.pair[0].b.stored;
  const bool transposed = g.m <= kTransposedRows && has_pairs(g);
  const int64_t unit = transposed ? VL : NR, panels = ceil_div(g.n, NR);
  const int64_t per_task =
      max64(1, min64(kTaskPanels, panels / (kTasksPerThread * thread_count(call.pool)))) * NR;
  parallel(call, ceil_div(g.n, per_task), [&](int64_t task, int thread) {
    const Tiles tiles;
    uint32_t* b = static_cast<uint32_t*>(thread_scratch(call.scratch, thread, kGemmTile, own_bytes(g)));
    float* sums = reinterpret_cast<float*>(b + NR * kStretch);
    const int64_t end = min64(g.n, (task + 1) * per_task);
    for (int64_t row0 = 0; row0 < g.m; row0 += kRowBlock) {
      const int64_t rows = min64(kRowBlock, g.m - row0),
                    strips = has_tiles(g) ? ceil_div(rows, int64_t(MR)) : strips_of(rows),
                    steps =
                        transposed ? ceil_div(words_of(g), VL) : ceil_div(words_of(g), kStepWords) * strips;
      for (int64_t column = task * per_task; column < end; column += unit) {
        const int64_t columns = min64(unit, end - column), next = column + columns;
        const Prefetch prefetch(stored, next, min64(unit, end - next), steps);
        if (transposed) run_transposed(g, a, column, columns, prefetch, sums);
        else if (columns > 2 * VL) multiply_panel<3>(g, a, row0, rows, column, columns, prefetch, b, sums);
        else if (columns > VL) multiply_panel<2>(g, a, row0, rows, column, columns, prefetch, b, sums);
        else multiply_panel<1>(g, a, row0, rows, column, columns, prefetch, b, sums);
        finish(g, sums, row0, rows, column, columns);
      }
    }
  });
}

}  // namespace cairn::CAIRN_ISA
