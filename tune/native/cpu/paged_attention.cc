// Attention of new rows over keys and values in a cache, block by block.
//
// A task takes one key head and a tile of rows of one span. All query heads that read that key head are rows
// of one left operand, so a decoding sequence reads its keys once for the whole group. Tiles of keys are
// counted from the first key of the span, independently of the rows, and a key that a row does not see adds
// an exact zero. So a row's bits depend only on its own query and keys, not on its chunk or batch. For few
// queries, as in decoding, keys and values are read in place (paged_in_place.h); for many, both are packed
// first (paged_cache.h).
#include <stdexcept>

#include "kernels.h"
#include "paged_in_place.h"

namespace cairn::CAIRN_ISA {

namespace {

Span span_of(const Pages& p, const Tensor& spans, const Tensor& tables, int64_t s) {
  const int32_t* n = ints_of(spans) + s * kSpanNumbers;
  return {n[0], n[1], n[2], ints_of(tables) + s * p.blocks};
}

// The parts of the thread's scratch that attend and attend_few use.
size_t scratch_bytes(const Pages& p) {
  const int64_t packed =
      padded_rows(kQueries) * (p.width_words + p.key_words) + BC * p.width_words + p.key_words * p.padded;
  const int64_t few = kFewQueries * (p.kv_heads * (p.padded + 2) + BC + BC / 2 + p.width);
  return size_t(max64(packed + kQueries * (BC + p.padded + p.width) + VL, few)) * 4;
}

// Turns the scores of one row into weights, with zero for keys outside [unseen, seen). Rescales earlier sums
// to the new largest score.
inline void weigh(const Pages& p, float* z, int64_t unseen, int64_t seen, int64_t count, float& maximum,
    float& total, float* sums) {
  if (p.cap != 0)
    for (int64_t c = 0; c < seen; c += VL)
      store(z + c, tanh(load(z + c) * (p.scale / p.cap)) * p.cap);
  const float scale = p.cap == 0 ? p.scale : 1;
  for (int64_t c = seen; c < ceil_div(count, VL) * VL; c++) z[c] = -__builtin_inff();
  for (int64_t c = 0; c < unseen; c++) z[c] = -__builtin_inff();
  if (seen <= unseen) {
    seen = 0;
  } else {
    vf high = splat(-__builtin_inff());
    for (int64_t c = 0; c < seen; c += VL) high = max(high, load(z + c));
    const float now = max_lanes(high) * scale, next = now > maximum ? now : maximum;
    const float shrink = maximum == next ? 1.0f : exp(splat(maximum - next))[0];
    vf sum{};
    for (int64_t c = 0; c < seen; c += VL) {
      const vf e = exp(load(z + c) * scale - next);
      store(z + c, e);
      sum += e;
    }
    maximum = next;
    total = total * shrink + sum_lanes(sum);
    if (shrink != 1.0f)
      for (int64_t c = 0; c < p.padded; c += VL) store(sums + c, load(sums + c) * shrink);
  }
  for (int64_t c = ceil_div(seen, VL) * VL; c < ceil_div(count, VL) * VL; c++) z[c] = 0;
}

// A tile of a span: `rows` rows from `row0` on, which see at most `keys` keys.
struct Rows {
  Span span;
  int64_t row0, rows, keys;

  Rows(const Pages& p, const Span& span, int64_t row0)
      : span(span),
        row0(row0),
        rows(min64(p.rows_per_tile(), span.rows - row0)),
        keys(span.before + row0 + rows) {}
  int64_t queries(const Pages& p) const { return rows * p.group; }
  // Start of query i of a key head in q and y.
  int64_t place(const Pages& p, int64_t kv, int64_t i) const {
    return ((span.first + row0 + i / p.group) * p.heads + kv * p.group + i % p.group) * p.width;
  }
  // How many of the `count` keys from key0 on query i sees.
  int64_t seen(const Pages& p, int64_t i, int64_t key0, int64_t count) const {
    return max64(0, min64(count, span.before + row0 + i / p.group - key0 + 1));
  }
  // How many of those precede its window.
  int64_t unseen(const Pages& p, int64_t i, int64_t key0, int64_t count) const {
    return p.window ? max64(0, min64(count, span.before + row0 + i / p.group - p.window + 1 - key0)) : 0;
  }
  // The first tile of keys that any query sees.
  int64_t first_key(const Pages& p) const {
    return p.window ? max64(0, span.before + row0 - p.window + 1) / BC * BC : 0;
  }
};

// Largest score and sum of weights of query i of a key head before its first key: those of a sink, a score
// without a value.
inline void start_row(
    const Pages& p, const Tensor* sinks, int64_t kv, int64_t i, float& maximum, float& total) {
  float scratch[1];
  maximum = sinks ? read_row(*sinks, kv * p.group + i % p.group, 1, scratch)[0] : -__builtin_inff();
  total = sinks ? 1 : 0;
}

inline void finish(
    const Pages& p, const Tensor& y, const Rows& rows, int64_t kv, const float* total, float* sums) {
  for (int64_t i = 0; i < rows.queries(p); i++) {
    float* out = sums + i * p.padded;
    for (int64_t c = 0; c < p.width; c++) out[c] /= total[i];
    write_row(y, rows.place(p, kv, i), p.width, out);
  }
}

// A query as words of the arithmetic: in place, or widened into `scratch`.
inline const uint32_t* query_words(const Pages& p, const Tensor& q, int64_t at, float* scratch) {
  if (p.words != Words::rounded)
    return reinterpret_cast<const uint32_t*>(q.data + at * element_size(q.dtype));
  return reinterpret_cast<const uint32_t*>(read_row(q, at, p.width, scratch));
}

// Few queries of `heads` key heads from `first` on. Processes all heads of a tile of keys before the next
// tile, because they are adjacent. `next` is the likely next work of this thread, for prefetching.
void attend_few(const Pages& p, const Call& call, const Rows& rows, const Rows& next, int64_t first,
    int64_t heads, int thread) {
  const Tensor &q = *call.in[paged_attention_in::q], &k = *call.in[paged_attention_in::k],
               &v = *call.in[paged_attention_in::v];
  const int64_t queries = rows.queries(p), states = heads * kFewQueries;
  float* sums = static_cast<float*>(thread_scratch(call.scratch, thread, 0, scratch_bytes(p)));
  float *maximum = sums + states * p.padded, *total = maximum + states, *grid = total + states;
  uint32_t* weights = reinterpret_cast<uint32_t*>(grid + kFewQueries * BC);
  float* scratch = reinterpret_cast<float*>(weights + kFewQueries * BC / 2);
  const Tensor* sinks = call.in[paged_attention_in::sinks];
  for (int64_t head = 0; head < heads; head++)
    for (int64_t i = 0; i < kFewQueries; i++)
      start_row(p, sinks, first + head, i, maximum[head * kFewQueries + i], total[head * kFewQueries + i]);
  std::memset(sums, 0, size_t(states * p.padded) * 4);
  Prefetch prefetch{p, k, v, rows.span.table, first, heads};
  prefetch.aim(rows.first_key(p), min64(rows.first_key(p) + BC, rows.keys), 1);
  prefetch.step();
  for (int64_t key0 = rows.first_key(p); key0 < rows.keys; key0 += BC) {
    const int64_t count = min64(BC, rows.keys - key0);
    if (key0 + BC < rows.keys) {
      prefetch.aim(key0 + BC, min64(key0 + 2 * BC, rows.keys), heads * steps_of(p, count));
    } else {
      prefetch.table = next.span.table;
      prefetch.aim(next.first_key(p), min64(next.first_key(p) + BC, next.keys), heads * steps_of(p, count));
    }
    for (int64_t head = 0; head < heads; head++) {
      const uint32_t* few[kFewQueries];
      for (int64_t i = 0; i < queries; i++)
        few[i] = query_words(p, q, rows.place(p, first + head, i), scratch + i * p.width);
      const int64_t state = head * kFewQueries;
      score_in_place(p, k, rows.span.table, first + head, key0, count, prefetch, few, queries, grid);
      for (int64_t i = 0; i < queries; i++)
        weigh(p, grid + i * BC, rows.unseen(p, i, key0, count), rows.seen(p, i, key0, count), count,
            maximum[state + i], total[state + i], sums + (state + i) * p.padded);
      sum_in_place(p, v, rows.span.table, first + head, key0, count, prefetch, grid, queries, weights,
          sums + state * p.padded);
    }
  }
  for (int64_t head = 0; head < heads; head++)
    finish(p, *call.out[paged_attention_out::y], rows, first + head, total + head * kFewQueries,
        sums + head * kFewQueries * p.padded);
}

// Any number of queries of one key head.
void attend(const Pages& p, const Call& call, const Rows& rows, int64_t kv, int thread) {
  const Tensor& q = *call.in[paged_attention_in::q];
  const int64_t queries = rows.queries(p);
  const int64_t left_size = padded_rows(kQueries) * p.width_words, key_size = BC * p.width_words,
                value_size = p.key_words * p.padded, weight_size = padded_rows(kQueries) * p.key_words;
  uint32_t* left = static_cast<uint32_t*>(thread_scratch(call.scratch, thread, 0, scratch_bytes(p)));
  uint32_t *keys = left + left_size, *values = keys + key_size, *weights = values + value_size;
  float *grid = reinterpret_cast<float*>(weights + weight_size), *sums = grid + kQueries * BC,
        *scratch = sums + kQueries * p.padded;
  float maximum[kQueries], total[kQueries];

  for (int64_t i = 0; i < queries; i++) {
    const float* in = read_row(q, rows.place(p, kv, i), p.width, scratch + i * p.width);
    if (in != scratch + i * p.width) std::memcpy(scratch + i * p.width, in, size_t(p.width) * 4);
    start_row(p, call.in[paged_attention_in::sinks], kv, i, maximum[i], total[i]);
  }
  pack<kRegisterRows>(p.words, {plain(scratch, Dtype::f32, p.width), true}, 0, queries, 0, p.width, left,
      p.width_words * kRegisterRows);
  std::memset(sums, 0, size_t(kQueries * p.padded) * 4);

  const Tensor &k = *call.in[paged_attention_in::k], &v = *call.in[paged_attention_in::v];
  for (int64_t key0 = rows.first_key(p); key0 < rows.keys; key0 += BC) {
    const int64_t count = min64(BC, rows.keys - key0), n = word_count(p.words, count);
    pack_keys(p, k, kv, rows.span.table, key0, count, keys);
    pack_values(p, v, kv, rows.span.table, key0, count, values);
    for (int64_t panel = 0; panel * NR < count; panel++)
      for (int64_t i = 0; i < queries; i += kRegisterRows)
        run_registers(p.pairs(), queries - i, int(ceil_div(min64(NR, count - panel * NR), VL)),
            full_words(p.words, p.width), left + i * p.width_words, keys + panel * NR * p.width_words, NR,
            grid + i * BC + panel * NR, BC, false);
    for (int64_t i = 0; i < queries; i++)
      weigh(p, grid + i * BC, rows.unseen(p, i, key0, count), rows.seen(p, i, key0, count), count, maximum[i],
          total[i], sums + i * p.padded);
    pack<kRegisterRows>(
        p.words, {plain(grid, Dtype::f32, BC), true}, 0, queries, 0, count, weights, n * kRegisterRows);
    for (int64_t i = 0; i < queries; i += kRegisterRows)
      for (int64_t column = 0; column < p.width; column += NR) {
        const int64_t nv = min64(kVectors, ceil_div(p.width - column, VL));
        run_registers(p.pairs(), queries - i, int(nv), full_words(p.words, count), weights + i * n,
            values + column * n, nv * VL, sums + i * p.padded + column, p.padded, true);
      }
  }
  finish(p, *call.out[paged_attention_out::y], rows, kv, total, sums);
}

// Number of tiles per thread that keeps all threads busy to the end.
constexpr int64_t kTilesPerThread = 4;

struct Tile {
  int32_t span, row;
};

}  // namespace

void paged_attention(Call& call) {
  const Tensor &q = *call.in[paged_attention_in::q], &k = *call.in[paged_attention_in::k],
               &tables = *call.in[paged_attention_in::tables], &spans = *call.in[paged_attention_in::spans];
  const Tensor& y = *call.out[paged_attention_out::y];
  const Pages p(q, k, tables, PagedAttentionAttrs::read(call.attrs));
  int64_t tiles = 0;
  for (int64_t s = 0; s < spans.dims[0]; s++) {
    const Span span = span_of(p, spans, tables, s);
    if (span.rows <= 0) continue;
    if (span.first < 0 || span.before < 0 || span.first + span.rows > q.dims[0])
      throw std::runtime_error("a span lies outside the rows");
    const int64_t used = ceil_div(span.before + span.rows, p.block);
    if (used > p.blocks) throw std::runtime_error("a span has more keys than its table");
    for (int64_t i = 0; i < used; i++)
      if (span.table[i] < 0 || (span.table[i] + int64_t(1)) * p.block > k.dims[0])
        throw std::runtime_error("a table names a block outside the cache");
    tiles += ceil_div(span.rows, p.rows_per_tile());
  }
  Tile* list = static_cast<Tile*>(shared_scratch(call.scratch, 0, size_t(tiles + 1) * sizeof(Tile)));
  int64_t at = 0;
  for (int64_t s = 0; s < spans.dims[0]; s++)
    for (int64_t row = 0, rows = span_of(p, spans, tables, s).rows; row < rows; row += p.rows_per_tile())
      list[at++] = {int32_t(s), int32_t(row)};
  std::memset(y.data, 0, size_t(y.count) * element_size(y.dtype));
  // A task takes all heads of a tile if there are enough tiles for all threads.
  const int64_t heads = tiles >= kTilesPerThread * thread_count(call.pool) ? p.kv_heads : 1,
                parts = p.kv_heads / heads;
  const bool lies = can_lie(p);
  // The last tiles see the most keys, so they go first.
  parallel(call, tiles * parts, [&](int64_t task, int thread) {
    const auto rows_of = [&](int64_t tile) {
      return Rows(p, span_of(p, spans, tables, list[tile].span), list[tile].row);
    };
    const int64_t tile = tiles - 1 - task / parts;
    const Rows part = rows_of(tile);
    const int64_t first = task % parts * heads;
    if (lies && part.queries(p) <= kFewQueries) {
      attend_few(p, call, part, rows_of(max64(0, tile - thread_count(call.pool))), first, heads, thread);
      return;
    }
    for (int64_t kv = first; kv < first + heads; kv++) attend(p, call, part, kv, thread);
  });
}

void paged_attention_scratch(const Call& call, ScratchSizes& sizes) {
  const Tensor& q = *call.in[paged_attention_in::q];
  const Pages p(q, *call.in[paged_attention_in::k], *call.in[paged_attention_in::tables],
      PagedAttentionAttrs::read(call.attrs));
  // Spans share no row, so there is at most one tile per row.
  sizes.add_shared(0, size_t(q.dims[0] + 1) * sizeof(Tile));
  sizes.add_own(0, scratch_bytes(p));
}

}  // namespace cairn::CAIRN_ISA
