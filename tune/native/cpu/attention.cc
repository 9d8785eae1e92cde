// Causal attention over packed documents in tiles that stay in cache; no T×T matrix exists.
//
// Keys and values of a document are packed once for all query heads that read them. A task takes one tile of
// queries of one head and iterates over the keys with an online softmax.
#include "attention_tiles.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr int64_t kQueries = 64, kKeys = 4 * NR;

size_t scratch_bytes(const Sizes& s) {
  return size_t(kQueries * (s.width_words + s.key_words + kKeys + s.padded + 4 * VL)) * 4;
}

struct Tile {
  int32_t document, index;
};

// Tiles of `size` rows of every document, in order.
int64_t list_tiles(const Shape& s, int64_t size, Tile* to) {
  int64_t count = 0;
  for (int64_t d = 0; d < s.documents; d++)
    for (int64_t i = 0; i * size < s.length(d); i++, count++)
      if (to) to[count] = {int32_t(d), int32_t(i)};
  return count;
}

inline size_t tile_bytes(int64_t tiles) { return size_t(tiles + 1) * sizeof(Tile); }

// One row of scores: turns those of keys [unseen, seen) into weights, others into 0, and returns their sum.
// `maximum` grows to the largest score so far. Both are exponents of 2.
template <bool coarse>
inline float softmax_row(const Sizes& s, float* z, bf16* z16, int64_t unseen, int64_t seen, float& maximum) {
  const int64_t end = ceil_div(seen, VL) * VL;
  if (s.cap != 0) cap_scores(s, z, end);
  for (int64_t c = 0; c < unseen; c++) z[c] = -__builtin_inff();
  for (int64_t c = seen; c < end; c++) z[c] = -__builtin_inff();
  const vf scale = splat(factor_of(s) * kLog2E);
  vf maxima = splat(maximum), lanes{};
  for (int64_t c = 0; c < end; c += VL) maxima = max(maxima, load(z + c) * scale);
  maximum = max_lanes(maxima);
  const vf down = splat(-maximum);
  for (int64_t c = 0; c < end; c += VL) {
    const vf p = exp2<coarse>(fma(load(z + c), scale, down));
    put(s.pairs, z16 + c, z + c, p);
    lanes += p;
  }
  put_zeros(s.pairs, z16 + end, z + end, kKeys - end);
  return sum_lanes(lanes);
}

void forward_tile(const Shape& s, Call& call, const HeadRows& q, int64_t head, Tile tile,
    const uint32_t* keys, const uint32_t* values, uint32_t* scratch) {
  const Tensor &y = *call.out[attention_out::y], &lse = *call.out[attention_out::lse];
  const int64_t start = s.ends[tile.document], length = s.length(tile.document), row0 = tile.index * kQueries,
                rows = min64(kQueries, length - row0);
  uint32_t* left = scratch;
  uint32_t* weights = left + kQueries * s.width_words;
  float* grid = reinterpret_cast<float*>(weights + kQueries * s.key_words);
  float* sums = grid + kQueries * kKeys;
  float maximum[kQueries], total[kQueries];
  pack_left(s, q, start + row0, rows, left);
  std::memset(sums, 0, size_t(kQueries * s.padded) * 4);
  // A sink is an initial score without a value.
  const Tensor* sinks = call.in[attention_in::sinks];
  float sink_scratch[1];
  const float sink = sinks ? read_row(*sinks, head, 1, sink_scratch)[0] * kLog2E : -__builtin_inff();
  for (int64_t i = 0; i < kQueries; i++) maximum[i] = sink, total[i] = sinks ? 1 : 0;
  for (int64_t j = first_key(s.window, row0) / kKeys; j * kKeys < row0 + rows; j++) {
    const int64_t key0 = j * kKeys, count = min64(kKeys, length - key0);
    scores(s, left, row0, rows, keys + key0 * s.width_words, key0, count, grid);
    for (int64_t i = 0; i < rows; i++) {
      float* z = grid + i * kKeys;
      bf16* z16 = reinterpret_cast<bf16*>(weights) + i * kKeys;
      const int64_t seen = visible(row0 + i, key0, count), unseen = hidden(s.window, row0 + i, key0, count);
      if (seen <= unseen) {
        put_zeros(s.pairs, z16, z, kKeys);
        continue;
      }
      const float before = maximum[i], sum = s.words == Words::f32
                                                 ? softmax_row<false>(s, z, z16, unseen, seen, maximum[i])
                                                 : softmax_row<true>(s, z, z16, unseen, seen, maximum[i]);
      if (maximum[i] == before) {
        total[i] += sum;
        continue;
      }
      const float shrink = exp2<false>(splat(before - maximum[i]))[0];
      total[i] = total[i] * shrink + sum;
      for (int64_t c = 0; c < s.padded; c += VL)
        store(sums + i * s.padded + c, load(sums + i * s.padded + c) * shrink);
    }
    const int64_t n = word_count(s.words, count);
    if (!s.pairs)
      pack_strips(s.words, {plain(grid, Dtype::f32, kKeys), true}, 0, rows, 0, count, weights, n * MR);
    multiply_down(s, rows, values + j * s.key_words * s.padded, n, [&](int64_t i) -> Strip {
      const Left left = s.pairs ? Left{weights + i * s.key_words, s.key_words} : Left{weights + i * n, 0};
      return {left, 0, word_count(s.words, visible(row0 + i + MR - 1, key0, count)), sums + i * s.padded};
    });
  }
  for (int64_t i = 0; i < rows; i++) {
    float* row = sums + i * s.padded;
    for (int64_t c = 0; c < s.padded; c += VL) store(row + c, load(row + c) / total[i]);
    write_row(y, head_of(y, head, s.width).at(start + row0 + i), s.width, row);
    floats_of(lse)[head * s.tokens + start + row0 + i] = maximum[i] * kLn2 + __builtin_logf(total[i]);
  }
}

}  // namespace

void attention(Call& call) {
  const Tensor &q = *call.in[attention_in::q], &k = *call.in[attention_in::k], &v = *call.in[attention_in::v];
  const auto attrs = AttentionAttrs::read(call.attrs);
  const Shape s(q, *call.in[attention_in::cu_seqlens], attrs.heads, attrs.kv_heads, attrs.scale,
      attrs.softcap, attrs.window, {kQueries, kKeys});
  const int64_t key_tiles = list_tiles(s, kKeys, nullptr), query_tiles = list_tiles(s, kQueries, nullptr),
                key_size = s.key_size(), value_size = s.value_size();
  Tile* keys = static_cast<Tile*>(shared_scratch(call.scratch, 0, tile_bytes(key_tiles + query_tiles)));
  Tile* queries = keys + key_tiles;
  list_tiles(s, kKeys, keys);
  list_tiles(s, kQueries, queries);
  uint32_t* packed = static_cast<uint32_t*>(shared_scratch(call.scratch, 1, s.packed_bytes(key_tiles)));
  uint32_t* packed_values = packed + s.kv_heads * key_tiles * key_size;
  parallel(call, s.kv_heads * key_tiles, [&](int64_t task, int) {
    const int64_t head = task / key_tiles, tile = task % key_tiles;
    const int64_t row = s.ends[keys[tile].document] + keys[tile].index * kKeys,
                  rows = min64(kKeys, s.ends[keys[tile].document + 1] - row);
    pack_right(s, head_of(k, head, s.width), row, rows, packed + task * key_size);
    pack_down(s, head_of(v, head, s.width), row, rows, packed_values + task * value_size);
  });
  parallel(call, s.heads * query_tiles, [&](int64_t task, int thread) {
    const Tiles registers;
    // The last tiles of a document see the most keys, so they go first.
    const int64_t head = task % s.heads, tile = query_tiles - 1 - task / s.heads,
                  kv = head * s.kv_heads / s.heads;
    int64_t first = 0;
    while (keys[first].document != queries[tile].document) first++;
    uint32_t* scratch = static_cast<uint32_t*>(thread_scratch(call.scratch, thread, 0, scratch_bytes(s)));
    forward_tile(s, call, head_of(q, head, s.width), head, queries[tile],
        packed + (kv * key_tiles + first) * key_size, packed_values + (kv * key_tiles + first) * value_size,
        scratch);
  });
}

void attention_scratch(const Call& call, ScratchSizes& sizes) {
  const auto attrs = AttentionAttrs::read(call.attrs);
  const Sizes s(*call.in[attention_in::q], *call.in[attention_in::cu_seqlens], attrs.heads, attrs.kv_heads,
      attrs.scale, attrs.softcap, attrs.window, {kQueries, kKeys});
  sizes.add_shared(0, tile_bytes(s.max_tiles(kKeys) + s.max_tiles(kQueries)));
  sizes.add_shared(1, s.packed_bytes(s.max_tiles(kKeys)));
  sizes.add_own(0, scratch_bytes(s));
}

}  // namespace cairn::CAIRN_ISA
