// Many products in one parallel section. A task is a block of rows of one product, with all its columns if
// there are enough tasks, otherwise with some.
//
// The left side of a task is packed once and stays in the second-level cache. The right side, the matrices of
// experts in any storage, is decoded while it is packed, a stretch of a panel at a time. Each sum is one
// chain over k, so neither the division into tasks nor the neighbouring rows change a bit of it.
#include "gemm_many.h"

#include "panel.h"

namespace cairn::CAIRN_ISA {

namespace {

// Maximum words of a task's packed rows, unless a single row has more: 1 MiB.
constexpr int64_t kBlockWords = 1 << 18;
constexpr int64_t kBlockRows = 256;
constexpr int64_t kTasksPerThread = 8;

inline int64_t words_of(const Gemm& g) {
  const Words words = words_for(g.arithmetic);
  return max64(word_count(words, g.pair[0].k) + word_count(words, g.pair[1].k), 1);
}

// Rows of a block, in whole units of packing.
inline int64_t block_rows(int64_t words) {
  const int64_t unit = padded_rows(1);
  return max64(unit, min64(kBlockRows, kBlockWords / words / unit * unit));
}

inline int64_t blocks_of(const Gemm& g) { return g.n == 0 ? 0 : ceil_div(g.m, block_rows(words_of(g))); }

inline size_t tile_bytes(int64_t rows) {
  return size_t(NR * kPanelStretch + padded_rows(rows) * (NR + 1)) * 4;
}

}  // namespace

void gemm_many_scratch(const GemmBounds& bounds, int64_t count, ScratchSizes& sizes) {
  if (bounds.rows == 0 || count == 0) return;
  const Words words = words_for(bounds.arithmetic);
  const int64_t largest = word_count(words, bounds.k) + word_count(words, bounds.k2);
  sizes.add_shared(kGemmSums, size_t(count + 1) * 8);
  sizes.add_own(kGemmA, size_t(max64(kBlockWords, padded_rows(1) * largest)) * 4);
  sizes.add_own(kGemmTile, tile_bytes(min64(bounds.rows, kBlockRows)));
}

void gemm_many(const Call& call, const GemmTask* tasks, int64_t count) {
  int64_t* ends = static_cast<int64_t*>(shared_scratch(call.scratch, kGemmSums, size_t(count + 1) * 8));
  int64_t blocks = 0;
  for (int64_t i = 0; i < count; i++) ends[i] = blocks += blocks_of(tasks[i].g);
  if (blocks == 0) return;
  const int64_t panels = ceil_div(tasks[0].g.n, NR);
  const int64_t groups = min64(panels, max64(1, ceil_div(kTasksPerThread * thread_count(call.pool), blocks)));
  parallel(call, blocks * groups, [&](int64_t task, int thread) {
    const Tiles tiles;
    const int64_t block = task / groups, group = task % groups;
    int64_t i = 0;
    for (int64_t last = count - 1; i < last;) {
      const int64_t middle = (i + last) / 2;
      if (ends[middle] > block) last = middle;
      else i = middle + 1;
    }
    const Gemm& g = tasks[i].g;
    const Words words = words_for(g.arithmetic);
    const int64_t rows_per_block = block_rows(words_of(g)),
                  row = (block - (i > 0 ? ends[i - 1] : 0)) * rows_per_block,
                  rows = min64(rows_per_block, g.m - row), first = word_count(words, g.pair[0].k),
                  second = word_count(words, g.pair[1].k);
    uint32_t* a = static_cast<uint32_t*>(
        thread_scratch(call.scratch, thread, kGemmA, size_t(padded_rows(rows) * words_of(g)) * 4));
    uint32_t* a2 = a + padded_rows(rows) * first;
    pack_strips(words, g.pair[0].a, row, rows, 0, g.pair[0].k, a, first * MR);
    if (second > 0) pack_strips(words, g.pair[1].a, row, rows, 0, g.pair[1].k, a2, second * MR);
    uint32_t* b = static_cast<uint32_t*>(thread_scratch(call.scratch, thread, kGemmTile, tile_bytes(rows)));
    float* sums = reinterpret_cast<float*>(b + NR * kPanelStretch);
    for (int64_t panel = panels * group / groups; panel < panels * (group + 1) / groups; panel++)
      multiply_panel(g, {{a, a2}, row, rows}, panel * NR, b, sums, sums + padded_rows(rows) * NR);
  });
}

}  // namespace cairn::CAIRN_ISA
