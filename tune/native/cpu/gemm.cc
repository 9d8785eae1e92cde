// y = alpha · Σ a·b + addend, for any operands that packing can read.
//
// Loops, outermost first: rows in blocks (which bounds the size of packed a), k in slices, columns in blocks.
// If rows of a are stored as words they are read in place; otherwise they are packed once per block. Then,
// for each block of columns, b is packed panel by panel and tasks process it. A task keeps a chunk of a's
// rows in the second-level cache. For each panel of b it processes one block of k after the other: the block
// stays in the first-level cache while all rows of the chunk are multiplied with it, and their f32 sums are
// kept in memory. Each sum is one chain over k, and blocks, chunks and panels depend on the shape alone, so
// the number of threads changes no bit.
#include "gemm.h"

#include "finish.h"

namespace cairn::CAIRN_ISA {

namespace {

// Words of k in a block. A panel of 48 columns then takes 24 KiB and stays in the first-level cache while a
// chunk of a's rows is multiplied with it.
constexpr int64_t kBlockWords = 128;
constexpr int64_t kSliceWords = 2048;
// Rows of a chunk: as many as can be multiplied with a block of b before its next one is fetched, while their
// sums are still in a near cache.
constexpr int64_t kChunkRows = 192;
constexpr int64_t kBlockRows = 2048;
// Panels of b that are packed at a time.
constexpr int64_t kBlockPanels = 24;

// Words [first, last) of the pairs' k as one run. Each pair starts at a whole word. `tail` more words follow.
struct WordSpan {
  int64_t first, last, tail;
  int64_t count() const { return last - first + tail; }
};

// Whether the rows of a are stored as words.
inline bool is_words(const Pair& pair) {
  const Stored& s = pair.a.stored;
  return pair.a.k_in_row && s.dtype == Dtype::bf16 && s.rounding.format == Rounding::none &&
         pair.k == word_count(Words::pairs, pair.k) * 2 && s.columns % 2 == 0;
}

// Sizes that determine the loops.
struct Loops {
  Words words;
  // The words of the second pair are a separate `tail` if the first pair's sums are scaled before it, or if a
  // is in two places. Otherwise they belong to the run of `head` words.
  int64_t head, tail, slices, panels;
  // a is read in place, or packed by each task for itself: if no other block of panels needs it, it then
  // never leaves the near caches.
  bool a_in_place, packs_in_task;

  explicit Loops(const Gemm& g) : words(words_for(g.arithmetic)), panels(ceil_div(g.n, NR)) {
    const int64_t first = word_count(words, g.pair[0].k), second = word_count(words, g.pair[1].k);
    a_in_place =
        words == Words::pairs && g.m % MR == 0 && is_words(g.pair[0]) && (second == 0 || is_words(g.pair[1]));
    packs_in_task = !a_in_place && panels <= kBlockPanels;
    head = g.is_scaled || a_in_place ? first : first + second;
    tail = g.is_scaled || a_in_place ? second : 0;
    slices = max64(1, ceil_div(head, kSliceWords));
  }

  // Slices start at whole blocks of every stored dtype. The last one includes the tail.
  WordSpan slice(int64_t i) const {
    const int64_t first = head * i / slices / 64 * 64;
    return i + 1 < slices ? WordSpan{first, head * (i + 1) / slices / 64 * 64, 0}
                          : WordSpan{first, head, tail};
  }
  int64_t max_words() const {
    int64_t max_count = 0;
    for (int64_t i = 0; i < slices; i++) max_count = max64(max_count, slice(i).count());
    return max_count;
  }
  // Blocks start at whole tiles.
  static int64_t block_start(int64_t count, int64_t block, int64_t blocks) {
    return block < blocks ? count * block / blocks / kTileWords * kTileWords : count;
  }
  static int64_t blocks(int64_t count) { return max64(1, (count + kBlockWords / 2) / kBlockWords); }
};

// pack(operand, k0, k, where) for the part of a span in each pair.
template <class Pack>
inline void pack_span(Words words, const Gemm& g, bool is_a, WordSpan span, Pack pack) {
  const int64_t per = words == Words::pairs ? 2 : 1;
  int64_t start = 0;
  for (const Pair& pair : g.pair) {
    const int64_t count = word_count(words, pair.k), from = max64(span.first, start),
                  to = min64(span.last + span.tail, start + count);
    if (from < to) {
      const int64_t k0 = (from - start) * per;
      pack(is_a ? pair.a : pair.b, k0, min64(pair.k, (to - start) * per) - k0, from - span.first);
    }
    start += count;
  }
}

inline void pack_a(Words words, const Gemm& g, int64_t row, int64_t rows, WordSpan span, uint32_t* strips) {
  pack_span(words, g, true, span, [&](const Operand& o, int64_t k0, int64_t k, int64_t at) {
    pack_strips(words, o, row, rows, k0, k, strips + at * MR, span.count() * MR);
  });
}

// The last panel of b may be narrower, and is packed at its own width.
inline void pack_b(
    Words words, const Gemm& g, int64_t column, int64_t columns, int nv, WordSpan span, uint32_t* panel) {
  pack_span(words, g, false, span, [&](const Operand& o, int64_t k0, int64_t k, int64_t at) {
    uint32_t* to = panel + at * nv * VL;
    if (nv == 3) pack<3 * VL>(words, o, column, columns, k0, k, to, 0);
    else if (nv == 2) pack<2 * VL>(words, o, column, columns, k0, k, to, 0);
    else pack<VL>(words, o, column, columns, k0, k, to, 0);
  });
}

// Prefetches rows of the result while their sums are computed.
inline void prefetch_rows(const Gemm& g, int64_t row0, int64_t rows, int64_t column) {
  const int64_t size = int64_t(element_size(g.y.dtype));
  for (int64_t i = 0; i < rows; i++) {
    const char* at = g.y.data + ((row0 + i) * g.n + column) * size;
    for (int64_t offset = 0; offset < NR * size; offset += 64) __builtin_prefetch(at + offset, 1, 3);
  }
}

// One task: rows [first, last) of a block times panels [panel0, panel1), for all k of a slice.
struct Region {
  int64_t m0, first, last, panel0, panel1;
  WordSpan span;
  const uint32_t *a,
      *b;       // packed: a starts at row `first` and is null if read in place, b starts at panel0
  float* sums;  // of panel0, panels `sums_stride` apart; null if one tile is enough
  int64_t sums_stride;
  bool is_first, is_last;
};

// Words `from`, from + n of MR rows of a, read in place.
inline void run_in_place(const Pair& pair, int64_t row, int64_t from, int nv, int64_t n, const uint32_t* b,
    float* sums, bool add) {
  const int64_t lda = pair.a.stored.columns / 2;
  run_micro_in_place(nv, n, reinterpret_cast<const uint32_t*>(pair.a.stored.part[0]) + row * lda + from, lda,
      b, nv * VL, sums, NR, add);
}

inline void multiply_region(const Gemm& g, bool pairs, const Region& r, float* tile) {
  const int64_t count = r.span.count(), head = count - r.span.tail, blocks = Loops::blocks(head);
  for (int64_t panel = r.panel0; panel < r.panel1; panel++) {
    const int64_t column = panel * NR, columns = min64(NR, g.n - column);
    const int nv = int(ceil_div(columns, VL)), width = nv * VL;
    const uint32_t* b = r.b + (panel - r.panel0) * NR * count;
    float* sums = r.sums ? r.sums + (panel - r.panel0) * r.sums_stride : tile;
    for (int64_t block = 0; block < blocks; block++) {
      const int64_t from = Loops::block_start(head, block, blocks),
                    to = Loops::block_start(head, block + 1, blocks);
      const bool is_end = r.is_last && block + 1 == blocks;
      // Prefetches the next block of b during this one, a share with each run of the micro-kernel.
      const uint32_t* next = b + to * width;
      const int64_t share =
          block + 1 < blocks || panel + 1 < r.panel1 ? (to - from) * width * MR / (r.last - r.first) : 0;
      for (int64_t i = r.first; i < r.last; i += MR, next += share) {
        float* strip = sums + (i - r.first) * NR;
        const int64_t rows = min64(MR, r.last - i);
        for (int64_t offset = 0; offset < share; offset += 16) __builtin_prefetch(next + offset, 0, 2);
        if (is_end) prefetch_rows(g, r.m0 + i, rows, column);
        const bool add = block > 0 || !r.is_first;
        if (r.a)
          run_micro(pairs, rows, nv, to - from, r.a + (i - r.first) * count + from * MR, b + from * width,
              width, strip, NR, add);
        else
          run_in_place(g.pair[0], r.m0 + i, r.span.first + from, nv, to - from, b + from * width, strip, add);
        if (!is_end) continue;
        if (g.is_scaled)
          for (int64_t j = 0; j < MR * NR; j += VL) store(strip + j, load(strip + j) * g.scale);
        if (r.span.tail > 0) {
          if (r.a)
            run_micro(pairs, rows, nv, r.span.tail, r.a + (i - r.first) * count + head * MR, b + head * width,
                width, strip, NR, true);
          else run_in_place(g.pair[1], r.m0 + i, 0, nv, r.span.tail, b + head * width, strip, true);
        }
        for (int64_t row = 0; row < rows; row++)
          finish_row(g, pairs, (r.m0 + i + row) * g.n + column, columns, strip + row * NR);
      }
    }
  }
}

// Sums of one panel of a chunk.
constexpr int64_t kTileFloats = kChunkRows * NR;

// Groups of the `width` packed panels, one per task: enough to keep every thread busy to the end.
inline int64_t groups_of(int64_t width, int64_t chunks, int threads) {
  return min64(width, max64(1, ceil_div(4 * threads, chunks)));
}

// Rows of a chunk for `rows` rows. Chunks have similar sizes and, if there are several, an even number, so
// that two threads finish together.
inline int64_t chunk_rows_of(int64_t rows) {
  const int64_t min_chunks = ceil_div(rows, kChunkRows),
                chunks = min_chunks > 1 ? (min_chunks + 1) / 2 * 2 : 1;
  return ceil_div(ceil_div(rows, chunks), MR) * MR;
}

inline size_t kept_bytes(int64_t rows, int64_t panels) {
  return size_t(ceil_div(rows, MR) * MR * panels * NR) * 4;
}
inline size_t a_bytes(int64_t rows, int64_t words) { return size_t(padded_rows(rows) * max64(words, 1)) * 4; }
inline size_t b_bytes(int64_t panels, int64_t words) {
  return size_t(min64(panels, kBlockPanels) * NR * max64(words, 1)) * 4;
}

}  // namespace

void gemm_scratch(const Gemm& g, ScratchSizes& sizes) {
  const Loops loops(g);
  const int64_t rows = min64(kBlockRows, g.m);
  if (rows == 0 || loops.panels == 0) return;
  if (loops.slices > 1) sizes.add_shared(kGemmSums, kept_bytes(rows, loops.panels));
  if (loops.packs_in_task) sizes.add_own(kGemmA, a_bytes(min64(rows, kChunkRows), loops.max_words()));
  else if (!loops.a_in_place) sizes.add_shared(kGemmA, a_bytes(rows, loops.max_words()));
  sizes.add_shared(kGemmB, b_bytes(loops.panels, loops.max_words()));
  sizes.add_own(kGemmTile, size_t(kTileFloats) * 4);
}

void gemm(const Call& call, const Gemm& g) {
  const Loops loops(g);
  const Words words = loops.words;
  const int64_t slices = loops.slices, panels = loops.panels;
  const bool pairs = words == Words::pairs;

  for (int64_t m0 = 0; m0 < g.m; m0 += kBlockRows) {
    const int64_t rows = min64(kBlockRows, g.m - m0), chunk_rows = chunk_rows_of(rows),
                  chunks = ceil_div(rows, chunk_rows), sum_rows = ceil_div(rows, MR) * MR;
    // Sums of all columns must outlive a slice only if there are several slices.
    float* kept = slices > 1
                      ? static_cast<float*>(shared_scratch(call.scratch, kGemmSums, kept_bytes(rows, panels)))
                      : nullptr;
    for (int64_t slice = 0; slice < slices; slice++) {
      const WordSpan span = loops.slice(slice);
      const int64_t count = span.count();
      uint32_t* a = loops.a_in_place || loops.packs_in_task
                        ? nullptr
                        : static_cast<uint32_t*>(shared_scratch(call.scratch, kGemmA, a_bytes(rows, count)));
      uint32_t* b = static_cast<uint32_t*>(shared_scratch(call.scratch, kGemmB, b_bytes(panels, count)));
      if (a)
        parallel_spans(call, rows, 64, [&](int64_t first, int64_t last, int) {
          pack_a(words, g, m0 + first, last - first, span, a + first * count);
        });
      for (int64_t panel0 = 0; panel0 < panels; panel0 += kBlockPanels) {
        const int64_t panel1 = min64(panels, panel0 + kBlockPanels), width = panel1 - panel0;
        parallel(call, width, [&](int64_t i, int) {
          const int64_t column = (panel0 + i) * NR, columns = min64(NR, g.n - column);
          pack_b(words, g, column, columns, int(ceil_div(columns, VL)), span, b + i * NR * count);
        });
        const int64_t groups = groups_of(width, chunks, thread_count(call.pool));
        parallel(call, chunks * groups, [&](int64_t task, int thread) {
          const Tiles tiles;
          const int64_t chunk = task / groups, group = task % groups, from = width * group / groups,
                        to = width * (group + 1) / groups;
          float* tile =
              static_cast<float*>(thread_scratch(call.scratch, thread, kGemmTile, size_t(kTileFloats) * 4));
          Region r{m0, chunk * chunk_rows, min64(rows, (chunk + 1) * chunk_rows), panel0 + from, panel0 + to,
              span, a ? a + chunk * chunk_rows * count : nullptr, b + from * NR * count, nullptr, 0,
              slice == 0, slice + 1 == slices};
          if (kept)
            r.sums = kept + ((panel0 + from) * sum_rows + chunk * chunk_rows) * NR,
            r.sums_stride = sum_rows * NR;
          if (loops.packs_in_task) {
            uint32_t* own = static_cast<uint32_t*>(
                thread_scratch(call.scratch, thread, kGemmA, a_bytes(min64(rows, kChunkRows), count)));
            pack_a(words, g, m0 + r.first, r.last - r.first, span, own);
            r.a = own;
          }
          multiply_region(g, pairs, r, tile);
        });
      }
    }
  }
}

}  // namespace cairn::CAIRN_ISA
