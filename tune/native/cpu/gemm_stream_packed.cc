// A product with few rows, as in decoding and in the gradients of adapters: all the time goes into reading
// the other side, so it is read once and never written.
//
// A task takes one panel of columns and runs along k in short stretches: each is packed into the nearest
// cache and multiplied with all rows before the next is read. There is one section of work for all threads
// where gemm needs two for every 24 panels. Each number of the result is the same chain of sums over k as in
// gemm, so its bits are the same for any number of rows on either side of the border between the two.
#include "gemm_stream_packed.h"

#include "finish.h"

namespace cairn::CAIRN_ISA {

namespace {

// Words of k in a stretch: a panel of 48 columns is then 24 KiB.
constexpr int64_t kStretch = 128;

inline int64_t words_of(const Gemm& g) { return word_count(words_for(g.arithmetic), g.pair[0].k); }
inline size_t a_bytes(const Gemm& g) { return size_t(padded_rows(g.m) * max64(words_of(g), 1)) * 4; }
inline size_t own_bytes(const Gemm& g) { return size_t(NR * kStretch + padded_rows(g.m) * (NR + 1)) * 4; }

template <int width>
inline void pack_stretch(
    Words words, const Gemm& g, int64_t column, int64_t columns, int64_t k0, int64_t k, uint32_t* panel) {
  pack<width>(words, g.pair[0].b, column, columns, k0, k, panel, 0);
}

// Sums of the transposed result come one below the other and are put side by side in `scratch`.
inline void finish(
    const Gemm& g, bool pairs, const float* sums, int64_t column, int64_t columns, float* scratch) {
  if (!g.is_transposed) {
    for (int64_t i = 0; i < g.m; i++) finish_row(g, pairs, i * g.n + column, columns, sums + i * NR);
    return;
  }
  for (int64_t j = 0; j < columns; j++) {
    for (int64_t i = 0; i < g.m; i++) scratch[i] = sums[i * NR + j];
    finish_row(g, pairs, (column + j) * g.m, g.m, scratch);
  }
}

}  // namespace

bool streams_packed(const Gemm& g) { return g.m <= kStreamPackedRows && g.pair[1].k == 0 && !g.is_scaled; }

void gemm_stream_packed_scratch(const Gemm& g, ScratchSizes& sizes) {
  if (g.m == 0 || g.n == 0) return;
  sizes.add_shared(kGemmA, a_bytes(g));
  sizes.add_own(kGemmTile, own_bytes(g));
}

void gemm_stream_packed(const Call& call, const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  const Words words = words_for(g.arithmetic);
  const bool pairs = words == Words::pairs;
  const int64_t per = pairs ? 2 : 1, k = g.pair[0].k, count = words_of(g);
  uint32_t* a = static_cast<uint32_t*>(shared_scratch(call.scratch, kGemmA, a_bytes(g)));
  pack<MR>(words, g.pair[0].a, 0, g.m, 0, k, a, count * MR);
  parallel(call, ceil_div(g.n, NR), [&](int64_t panel, int thread) {
    uint32_t* b = static_cast<uint32_t*>(thread_scratch(call.scratch, thread, kGemmTile, own_bytes(g)));
    float *sums = reinterpret_cast<float*>(b + NR * kStretch), *scratch = sums + padded_rows(g.m) * NR;
    const int64_t column = panel * NR, columns = min64(NR, g.n - column);
    const int nv = int(ceil_div(columns, VL));
    for (int64_t from = 0; from < max64(count, 1); from += kStretch) {
      const int64_t n = min64(kStretch, count - from), k0 = from * per, length = min64(k - k0, n * per);
      if (nv == 3) pack_stretch<3 * VL>(words, g, column, columns, k0, length, b);
      else if (nv == 2) pack_stretch<2 * VL>(words, g, column, columns, k0, length, b);
      else pack_stretch<VL>(words, g, column, columns, k0, length, b);
      for (int64_t i = 0; i < g.m; i += MR)
        run_micro(pairs, nv, n, a + i * count + from * MR, b, nv * VL, sums + i * NR, NR, from > 0);
    }
    finish(g, pairs, sums, column, columns, scratch);
  });
}

}  // namespace cairn::CAIRN_ISA
