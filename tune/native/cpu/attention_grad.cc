// The gradient of attention, tile by tile, from what the forward pass saved. A task takes one document and
// one key head, so that it alone sums dk and dv, in a fixed order.
#include "attention_tiles.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr int64_t kQueries = 128, kKeys = 2 * NR;

// Divides scratch memory into parts that start at cache lines.
struct Cutter {
  uint32_t* at;
  template <class T = uint32_t>
  T* take(int64_t words) {
    T* piece = reinterpret_cast<T*>(at);
    at += ceil_div(words, 16) * 16;
    return piece;
  }
};

// Scratch of the backward pass for one document and key head. `size` counts words if at is null.
struct HeadScratch {
  uint32_t *keys, *keys_down, *values, *queries, *queries_down, *grads, *grads_down, *weights;
  float *dk, *dv, *dq, *delta, *grid, *dgrid;
  bf16 *grid16, *dgrid16;  // weights and their gradients if they are multiplied in place
  int64_t size;

  HeadScratch(const Sizes& s, int64_t length, uint32_t* at) {
    const int64_t key_tiles = ceil_div(length, kKeys), query_tiles = ceil_div(length, kQueries);
    Cutter cut{at};
    keys = cut.take(key_tiles * kKeys * s.width_words);
    keys_down = cut.take(key_tiles * s.key_words * s.padded);
    values = cut.take(key_tiles * kKeys * s.width_words);
    dk = cut.take<float>(key_tiles * kKeys * s.padded);
    dv = cut.take<float>(key_tiles * kKeys * s.padded);
    queries = cut.take(query_tiles * kQueries * s.width_words);
    queries_down = cut.take(query_tiles * s.query_words * s.padded);
    grads = cut.take(query_tiles * kQueries * s.width_words);
    grads_down = cut.take(query_tiles * s.query_words * s.padded);
    dq = cut.take<float>(query_tiles * kQueries * s.padded);
    delta = cut.take<float>(query_tiles * kQueries);
    weights = cut.take((kKeys + VL) * (kQueries + VL));
    grid = cut.take<float>(kQueries * kKeys);
    dgrid = cut.take<float>(kQueries * kKeys);
    grid16 = cut.take<bf16>(kQueries * kKeys / 2);
    dgrid16 = cut.take<bf16>(kQueries * kKeys / 2);
    size = cut.at - at;
  }
};

// Adds to dk or dv: sums (keys, width) += gridᵀ · the queries' rows packed by pack_down. Queries before a
// strip of keys do not see it.
void add_down(const Shape& s, const HeadScratch& scratch, const float* grid, const bf16* grid16,
    const uint32_t* right, int64_t row0, int64_t rows, int64_t key0, int64_t keys, float* sums) {
  const int64_t n = word_count(s.words, rows);
  const Stored stored = s.pairs ? plain(reinterpret_cast<const char*>(grid16), Dtype::bf16, kKeys)
                                : plain(reinterpret_cast<const char*>(grid), Dtype::f32, kKeys);
  // Weights beyond the last key are zero, and strips are whole.
  pack_strips(s.words, {stored, false}, 0, ceil_div(keys, MR) * MR, 0, rows, scratch.weights, n * MR);
  multiply_down(s, keys, right, n, [&](int64_t c) -> Strip {
    const int64_t first = max64(0, key0 + c - row0), from = first_word(s.words, first);
    return {{scratch.weights + c * n + from * MR, 0}, from, n, sums + c * s.padded};
  });
}

// Turns the scores of a tile into weights, and the product dy·vᵀ into their gradient.
template <bool coarse>
void weigh_tile(const Shape& s, const HeadScratch& scratch, const float* lse, int64_t row0, int64_t rows,
    int64_t key0, int64_t keys) {
  const vf scale = splat(factor_of(s) * kLog2E), lowest = splat(-s.cap),
           inverse = splat(s.cap == 0 ? 0 : 1.0f / s.cap);
  for (int64_t r = 0; r < rows; r++) {
    const int64_t at = r * kKeys, seen = visible(row0 + r, key0, keys), end = ceil_div(seen, VL) * VL;
    float *z = scratch.grid + at, *d = scratch.dgrid + at;
    const int64_t unseen = hidden(s.window, row0 + r, key0, keys);
    if (s.cap != 0) cap_scores(s, z, end);
    for (int64_t c = 0; c < min64(unseen, end); c++) z[c] = -__builtin_inff(), d[c] = 0;
    for (int64_t c = seen; c < end; c++) z[c] = -__builtin_inff(), d[c] = 0;
    const vf down = splat(lse[row0 + r] * -kLog2E), delta = splat(scratch.delta[row0 + r] * s.scale);
    for (int64_t c = 0; c < end; c += VL) {
      const vf score = load(z + c), p = exp2<coarse>(fma(score, scale, down));
      vf grad = p * (load(d + c) * s.scale - delta);
      if (s.cap != 0) {
        const vf slope = max(score, lowest) * inverse;
        grad *= 1.0f - slope * slope;
      }
      put(s.pairs, scratch.grid16 + at + c, z + c, p);
      put(s.pairs, scratch.dgrid16 + at + c, d + c, grad);
    }
    put_zeros(s.pairs, scratch.grid16 + at + end, z + end, kKeys - end);
    put_zeros(s.pairs, scratch.dgrid16 + at + end, d + end, kKeys - end);
  }
}

// One tile of queries against one tile of keys: adds to dq, dk and dv.
void backward_tile(
    const Shape& s, const HeadScratch& scratch, const float* lse, int64_t i, int64_t j, int64_t length) {
  const int64_t row0 = i * kQueries, rows = min64(kQueries, length - row0), key0 = j * kKeys,
                keys = min64(kKeys, length - key0);
  scores(s, scratch.queries + row0 * s.width_words, row0, rows, scratch.keys + key0 * s.width_words, key0,
      keys, scratch.grid);
  scores(s, scratch.grads + row0 * s.width_words, row0, rows, scratch.values + key0 * s.width_words, key0,
      keys, scratch.dgrid);
  if (s.words == Words::f32) weigh_tile<false>(s, scratch, lse, row0, rows, key0, keys);
  else weigh_tile<true>(s, scratch, lse, row0, rows, key0, keys);
  add_down(s, scratch, scratch.grid, scratch.grid16, scratch.grads_down + i * s.query_words * s.padded, row0,
      rows, key0, keys, scratch.dv + key0 * s.padded);
  add_down(s, scratch, scratch.dgrid, scratch.dgrid16, scratch.queries_down + i * s.query_words * s.padded,
      row0, rows, key0, keys, scratch.dk + key0 * s.padded);
  const int64_t n = word_count(s.words, keys);
  if (!s.pairs)
    pack_strips(
        s.words, {plain(scratch.dgrid, Dtype::f32, kKeys), true}, 0, rows, 0, keys, scratch.weights, n * MR);
  multiply_down(s, rows, scratch.keys_down + j * s.key_words * s.padded, n, [&](int64_t r) -> Strip {
    const Left left = s.pairs
                          ? Left{reinterpret_cast<const uint32_t*>(scratch.dgrid16 + r * kKeys), kKeys / 2}
                          : Left{scratch.weights + r * n, 0};
    return {left, 0, word_count(s.words, visible(row0 + r + MR - 1, key0, keys)),
        scratch.dq + (row0 + r) * s.padded};
  });
}

}  // namespace

void attention_grad_scratch(const Call& call, ScratchSizes& sizes) {
  const auto attrs = AttentionGradAttrs::read(call.attrs);
  const Sizes s(*call.in[attention_grad_in::q], *call.in[attention_grad_in::cu_seqlens], attrs.heads,
      attrs.kv_heads, attrs.scale, attrs.softcap, attrs.window, {kQueries, kKeys});
  // At most one document of all tokens.
  sizes.add_own(0, size_t(HeadScratch(s, s.tokens, nullptr).size) * 4);
  sizes.add_own(1, size_t(s.width) * 4);
  sizes.add_own(2, size_t(s.width) * 4);
}

void attention_grad(Call& call) {
  const Tensor &dy = *call.in[attention_grad_in::dy], &q = *call.in[attention_grad_in::q],
               &k = *call.in[attention_grad_in::k], &v = *call.in[attention_grad_in::v];
  const Tensor &y = *call.in[attention_grad_in::y], &lse = *call.in[attention_grad_in::lse];
  const Tensor &dq = *call.out[attention_grad_out::dq], &dk = *call.out[attention_grad_out::dk],
               &dv = *call.out[attention_grad_out::dv];
  const auto attrs = AttentionGradAttrs::read(call.attrs);
  const Shape s(q, *call.in[attention_grad_in::cu_seqlens], attrs.heads, attrs.kv_heads, attrs.scale,
      attrs.softcap, attrs.window, {kQueries, kKeys});
  const int64_t group = s.heads / s.kv_heads;
  parallel(call, s.kv_heads * s.documents, [&](int64_t task, int thread) {
    const Tiles registers;
    const int64_t kv = task % s.kv_heads, document = task / s.kv_heads, start = s.ends[document],
                  length = s.length(document);
    if (length == 0) return;
    const int64_t words = HeadScratch(s, length, nullptr).size;
    const HeadScratch scratch(
        s, length, static_cast<uint32_t*>(thread_scratch(call.scratch, thread, 0, size_t(words) * 4)));
    float *a = row_slot(call, thread, 1, s.width), *b = row_slot(call, thread, 2, s.width);
    const int64_t key_tiles = ceil_div(length, kKeys), query_tiles = ceil_div(length, kQueries);
    const HeadRows keys = head_of(k, kv, s.width), values = head_of(v, kv, s.width);
    std::memset(scratch.dk, 0, size_t(key_tiles * kKeys * s.padded) * 4);
    std::memset(scratch.dv, 0, size_t(key_tiles * kKeys * s.padded) * 4);
    for (int64_t j = 0; j < key_tiles; j++) {
      const int64_t row = start + j * kKeys, rows = min64(kKeys, length - j * kKeys);
      pack_right(s, keys, row, rows, scratch.keys + j * kKeys * s.width_words);
      pack_right(s, values, row, rows, scratch.values + j * kKeys * s.width_words);
      pack_down(s, keys, row, rows, scratch.keys_down + j * s.key_words * s.padded);
    }
    for (int64_t head = kv * group; head < (kv + 1) * group; head++) {
      const HeadRows queries = head_of(q, head, s.width), grads = head_of(dy, head, s.width),
                     outs = head_of(y, head, s.width);
      std::memset(scratch.dq, 0, size_t(query_tiles * kQueries * s.padded) * 4);
      for (int64_t i = 0; i < query_tiles; i++) {
        const int64_t row = start + i * kQueries, rows = min64(kQueries, length - i * kQueries);
        pack_left(s, queries, row, rows, scratch.queries + i * kQueries * s.width_words);
        pack_left(s, grads, row, rows, scratch.grads + i * kQueries * s.width_words);
        pack_down(s, queries, row, rows, scratch.queries_down + i * s.query_words * s.padded);
        pack_down(s, grads, row, rows, scratch.grads_down + i * s.query_words * s.padded);
      }
      for (int64_t t = 0; t < length; t++)
        scratch.delta[t] = dot(read_row(dy, grads.at(start + t), s.width, a),
            read_row(y, outs.at(start + t), s.width, b), s.width);
      for (int64_t j = 0; j < key_tiles; j++)
        for (int64_t i = j * kKeys / kQueries;
            i < query_tiles && first_key(s.window, i * kQueries) < (j + 1) * kKeys; i++)
          backward_tile(s, scratch, floats_of(lse) + head * s.tokens + start, i, j, length);
      for (int64_t t = 0; t < length; t++)
        write_row(dq, queries.at(start + t), s.width, scratch.dq + t * s.padded);
    }
    for (int64_t t = 0; t < length; t++) {
      write_row(dk, keys.at(start + t), s.width, scratch.dk + t * s.padded);
      write_row(dv, values.at(start + t), s.width, scratch.dv + t * s.padded);
    }
  });
}

// The gradient of a sink sums the share of each query's weights that it takes from the output. Threads share
// the heads; each is summed in order of queries.
void sinks_grad(Call& call) {
  const Tensor &dy = *call.in[sinks_grad_in::dy], &y = *call.in[sinks_grad_in::y],
               &sinks = *call.in[sinks_grad_in::sinks];
  const float* lse = floats_of(*call.in[sinks_grad_in::lse]);
  float* dsinks = floats_of(*call.out[sinks_grad_out::dsinks]);
  const int64_t tokens = y.dims[0], heads = SinksGradAttrs::read(call.attrs).heads, width = y.dims[1] / heads;
  parallel(call, heads, [&](int64_t head, int thread) {
    float *a = row_slot(call, thread, 0, width), *b = row_slot(call, thread, 1, width), scratch[1];
    const float sink = read_row(sinks, head, 1, scratch)[0];
    float sum = 0;
    for (int64_t t = 0; t < tokens; t++) {
      const int64_t at = t * y.dims[1] + head * width;
      sum -= exp(splat(sink - lse[head * tokens + t]))[0] *
             dot(read_row(dy, at, width, a), read_row(y, at, width, b), width);
    }
    dsinks[head] = sum;
  });
}

void sinks_grad_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 2, call.in[sinks_grad_in::y]->dims[1] / SinksGradAttrs::read(call.attrs).heads);
}

}  // namespace cairn::CAIRN_ISA
