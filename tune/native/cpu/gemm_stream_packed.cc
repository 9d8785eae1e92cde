// A product with few rows, as in decoding and in the gradients of adapters. The time goes into reading the
// other side, so it is read once and never written.
//
// A task takes one panel of columns. There is one parallel section where gemm needs two for every 24 panels.
// Each number of the result is the same chain of sums over k as in gemm, so the choice between the two
// changes no bit.
#include "gemm_stream_packed.h"

#include "panel.h"

namespace cairn::CAIRN_ISA {

namespace {

inline int64_t words_of(const Gemm& g) { return word_count(words_for(g.arithmetic), g.pair[0].k); }
inline size_t a_bytes(const Gemm& g) { return size_t(padded_rows(g.m) * max64(words_of(g), 1)) * 4; }
inline size_t own_bytes(const Gemm& g) {
  return size_t(NR * kPanelStretch + padded_rows(g.m) * (NR + 1)) * 4;
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
  uint32_t* a = static_cast<uint32_t*>(shared_scratch(call.scratch, kGemmA, a_bytes(g)));
  pack_strips(words_for(g.arithmetic), g.pair[0].a, 0, g.m, 0, g.pair[0].k, a, words_of(g) * MR);
  parallel(call, ceil_div(g.n, NR), [&](int64_t panel, int thread) {
    const Tiles tiles;
    uint32_t* b = static_cast<uint32_t*>(thread_scratch(call.scratch, thread, kGemmTile, own_bytes(g)));
    float* sums = reinterpret_cast<float*>(b + NR * kPanelStretch);
    multiply_panel(g, {{a, nullptr}, 0, g.m}, panel * NR, b, sums, sums + padded_rows(g.m) * NR);
  });
}

}  // namespace cairn::CAIRN_ISA
