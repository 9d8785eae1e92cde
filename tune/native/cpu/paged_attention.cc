// Attention of new rows over keys and values that lie in a cache, block by block.
//
// A task takes one key head and a tile of rows of one span, with all query heads that read that key head as rows of one left operand: a decoding
// sequence reads its keys once for the whole group. Keys come in tiles counted from the first key of the span, whatever the rows, and a key that a row
// does not see adds an exact zero. So a row's bits depend on its own query and keys alone, not on the chunk or the batch it came in.
#include <stdexcept>

#include "kernels.h"
#include "micro.h"

namespace cairn::CAIRN_ISA {

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

Span span_of(const Pages& p, const Tensor& spans, const Tensor& tables, int64_t s) {
  const int32_t* n = ints_of(spans) + s * kSpanNumbers;
  return {n[0], n[1], n[2], ints_of(tables) + s * p.blocks};
}

// One key head of a cache (P, G·D) as rows of a matrix.
Stored head_of(const Tensor& cache, int64_t head, int64_t width) { return plain(cache.data + head * width * int64_t(element_size(cache.dtype)), cache.dtype, cache.dims[1]); }

// Keys [key0, key0 + keys) as the right operand, k along the head: panels of NR keys.
void pack_keys(const Pages& p, const Stored& cache, const int32_t* table, int64_t key0, int64_t keys, uint32_t* to) {
  for (int64_t i = 0; i < keys; i += VL) {
    const int64_t key = key0 + i, row = table[key / p.block] * p.block + key % p.block;
    pack<NR>(p.words, {cache, true}, row, min64(VL, keys - i), 0, p.width, to + i / NR * NR * p.width_words + i % NR, 0);
  }
}

// Values as the right operand, k down the keys.
void pack_values(const Pages& p, const Stored& cache, const int32_t* table, int64_t key0, int64_t keys, uint32_t* to) {
  const int64_t n = word_count(p.words, keys), per = p.pairs ? 2 : 1;
  for (int64_t column = 0; column < p.width; column += NR) {
    const int64_t columns = min64(NR, p.width - column), nv = ceil_div(columns, VL);
    for (int64_t i = 0; i < keys;) {
      const int64_t key = key0 + i, count = min64(keys - i, p.block - key % p.block), row = table[key / p.block] * p.block + key % p.block;
      uint32_t* panel = to + column * n + i / per * nv * VL;
      if (nv == 3) pack<3 * VL>(p.words, {cache, false}, column, columns, row, count, panel, 0);
      else if (nv == 2) pack<2 * VL>(p.words, {cache, false}, column, columns, row, count, panel, 0);
      else pack<VL>(p.words, {cache, false}, column, columns, row, count, panel, 0);
      i += count;
    }
  }
}

// The pieces that attend cuts out of its thread's room.
size_t room_bytes(const Pages& p) {
  const int64_t packed = padded_rows(kQueries) * (p.width_words + p.key_words) + BC * p.width_words + p.key_words * p.padded;
  return size_t(packed + kQueries * (BC + p.padded + p.width) + VL) * 4;
}

void attend(const Pages& p, const Call& call, const Span& span, int64_t row0, int64_t kv, int thread) {
  const Tensor &q = *call.in[paged_attention_in::q], &y = *call.out[paged_attention_out::y];
  const int64_t rows = min64(p.rows_per_tile(), span.rows - row0), queries = rows * p.group, total_keys = span.before + row0 + rows;
  const int64_t left_size = padded_rows(kQueries) * p.width_words, key_size = BC * p.width_words, value_size = p.key_words * p.padded, weight_size = padded_rows(kQueries) * p.key_words;
  uint32_t* left = static_cast<uint32_t*>(thread_room(call.workspace, thread, 0, room_bytes(p)));
  uint32_t *keys = left + left_size, *values = keys + key_size, *weights = values + value_size;
  float *grid = reinterpret_cast<float*>(weights + weight_size), *sums = grid + kQueries * BC, *room = sums + kQueries * p.padded;
  float most[kQueries], total[kQueries];

  for (int64_t i = 0; i < queries; i++) {
    const int64_t at = ((span.first + row0 + i / p.group) * p.heads + kv * p.group + i % p.group) * p.width;
    const float* in = read_row(q, at, p.width, room + i * p.width);
    if (in != room + i * p.width) std::memcpy(room + i * p.width, in, size_t(p.width) * 4);
    most[i] = -__builtin_inff(), total[i] = 0;
  }
  pack<MR>(p.words, {plain(room, Dtype::f32, p.width), true}, 0, queries, 0, p.width, left, p.width_words * MR);
  std::memset(sums, 0, size_t(kQueries * p.padded) * 4);

  const Stored k = head_of(*call.in[paged_attention_in::k], kv, p.width), v = head_of(*call.in[paged_attention_in::v], kv, p.width);
  for (int64_t key0 = 0; key0 < total_keys; key0 += BC) {
    const int64_t count = min64(BC, total_keys - key0), n = word_count(p.words, count);
    pack_keys(p, k, span.table, key0, count, keys);
    pack_values(p, v, span.table, key0, count, values);
    for (int64_t panel = 0; panel * NR < count; panel++)
      for (int64_t i = 0; i < queries; i += MR)
        run_micro(p.pairs, int(ceil_div(min64(NR, count - panel * NR), VL)), p.width_words, left + i * p.width_words, keys + panel * NR * p.width_words, NR, grid + i * BC + panel * NR, BC, false);
    for (int64_t i = 0; i < queries; i++) {
      float* z = grid + i * BC;
      const int64_t seen = max64(0, min64(count, span.before + row0 + i / p.group - key0 + 1));
      for (int64_t c = seen; c < ceil_div(count, VL) * VL; c++) z[c] = -__builtin_inff();
      if (seen > 0) {
        vf high = splat(-__builtin_inff());
        for (int64_t c = 0; c < seen; c += VL) high = max(high, load(z + c));
        const float now = max_lanes(high) * p.scale, next = now > most[i] ? now : most[i];
        const float shrink = most[i] == next ? 1.0f : exp(splat(most[i] - next))[0];
        vf sum{};
        for (int64_t c = 0; c < seen; c += VL) {
          const vf e = exp(load(z + c) * p.scale - next);
          store(z + c, e);
          sum += e;
        }
        most[i] = next;
        total[i] = total[i] * shrink + sum_lanes(sum);
        if (shrink != 1.0f) for (int64_t c = 0; c < p.padded; c += VL) store(sums + i * p.padded + c, load(sums + i * p.padded + c) * shrink);
      }
      for (int64_t c = ceil_div(seen, VL) * VL; c < count; c++) z[c] = 0;
    }
    pack<MR>(p.words, {plain(grid, Dtype::f32, BC), true}, 0, queries, 0, count, weights, n * MR);
    for (int64_t i = 0; i < queries; i += MR)
      for (int64_t column = 0; column < p.width; column += NR) {
        const int64_t nv = min64(kVectors, ceil_div(p.width - column, VL));
        run_micro(p.pairs, int(nv), n, weights + i * n, values + column * n, nv * VL, sums + i * p.padded + column, p.padded, true);
      }
  }
  for (int64_t i = 0; i < queries; i++) {
    float* out = sums + i * p.padded;
    for (int64_t c = 0; c < p.width; c++) out[c] /= total[i];
    write_row(y, ((span.first + row0 + i / p.group) * p.heads + kv * p.group + i % p.group) * p.width, p.width, out);
  }
}

struct Tile {
  int32_t span, row;
};

}  // namespace

void paged_attention(Call& call) {
  const Tensor &q = *call.in[paged_attention_in::q], &k = *call.in[paged_attention_in::k], &tables = *call.in[paged_attention_in::tables], &spans = *call.in[paged_attention_in::spans];
  const Tensor& y = *call.out[paged_attention_out::y];
  const Pages p(q, tables, PagedAttentionAttrs::read(call.attrs));
  int64_t tiles = 0;
  for (int64_t s = 0; s < spans.dims[0]; s++) {
    const Span span = span_of(p, spans, tables, s);
    if (span.rows <= 0) continue;
    if (span.first < 0 || span.before < 0 || span.first + span.rows > q.dims[0]) throw std::runtime_error("a span lies outside the rows");
    const int64_t used = ceil_div(span.before + span.rows, p.block);
    if (used > p.blocks) throw std::runtime_error("a span has more keys than its table");
    for (int64_t i = 0; i < used; i++)
      if (span.table[i] < 0 || (span.table[i] + int64_t(1)) * p.block > k.dims[0]) throw std::runtime_error("a table names a block outside the cache");
    tiles += ceil_div(span.rows, p.rows_per_tile());
  }
  Tile* list = static_cast<Tile*>(shared_room(call.workspace, 0, size_t(tiles + 1) * sizeof(Tile)));
  int64_t at = 0;
  for (int64_t s = 0; s < spans.dims[0]; s++)
    for (int64_t row = 0, rows = span_of(p, spans, tables, s).rows; row < rows; row += p.rows_per_tile()) list[at++] = {int32_t(s), int32_t(row)};
  std::memset(y.data, 0, size_t(y.count) * element_size(y.dtype));
  // The last tiles see the most keys; they go first.
  parallel(call, tiles * p.kv_heads, [&](int64_t task, int thread) {
    const Tile tile = list[tiles - 1 - task / p.kv_heads];
    attend(p, call, span_of(p, spans, tables, tile.span), tile.row, task % p.kv_heads, thread);
  });
}

void paged_attention_rooms(const Call& call, Rooms& rooms) {
  const Tensor& q = *call.in[paged_attention_in::q];
  const Pages p(q, *call.in[paged_attention_in::tables], PagedAttentionAttrs::read(call.attrs));
  // Spans share no row, so there is at most a tile for each.
  rooms.add_shared(0, size_t(q.dims[0] + 1) * sizeof(Tile));
  rooms.add_own(0, room_bytes(p));
}

}  // namespace cairn::CAIRN_ISA
