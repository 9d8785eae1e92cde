// Causal attention over packed documents, forward and backward, in tiles that stay in cache; no T×T matrix exists.
//
// Forward: keys and values of a document are packed once for all query heads that read them; a task takes one tile of queries of one head and runs
// along the keys with an online softmax. Backward: a task takes one document and one key head, so that it alone sums dk and dv, in a fixed order.
#include <stdexcept>

#include "kernels.h"
#include "micro.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr int64_t BR = 64;      // queries in a tile
constexpr int64_t BC = 2 * NR;  // keys in a tile

// Sizes, known before there is data.
struct Sizes {
  int64_t tokens, heads, kv_heads, width, padded;  // padded: width in whole vectors
  float scale;
  Words words;
  bool pairs;
  int64_t width_words, query_words, key_words;  // words of a run over width, BR and BC
  int64_t documents;

  Sizes(const Tensor& q, const Tensor& cu_seqlens, int64_t heads, int64_t kv_heads, float scale)
      : tokens(q.dims[0]), heads(heads), kv_heads(kv_heads), width(q.dims[1] / heads), padded(ceil_div(width, VL) * VL), scale(scale),
        words(words_for(q.dtype == Dtype::bf16 ? Arithmetic::bf16 : Arithmetic::f32)), pairs(words == Words::pairs), width_words(word_count(words, width)),
        query_words(word_count(words, BR)), key_words(word_count(words, BC)), documents(cu_seqlens.dims[0] - 1) {}

  // Most tiles of `size` rows that documents can have: each but the full ones ends one.
  int64_t most_tiles(int64_t size) const { return min64(tokens, tokens / size + documents); }
  // Words of one tile of keys and one of values, packed.
  int64_t key_size() const { return BC * width_words; }
  int64_t value_size() const { return key_words * padded; }
  size_t packed_bytes(int64_t key_tiles) const { return size_t(kv_heads * key_tiles * (key_size() + value_size()) + 1) * 4; }
  size_t forward_bytes() const { return size_t(BR * (width_words + key_words + BC + padded + 4 * VL)) * 4; }
};

struct Shape : Sizes {
  const int32_t* ends;

  Shape(const Tensor& q, const Tensor& cu_seqlens, int64_t heads, int64_t kv_heads, float scale) : Sizes(q, cu_seqlens, heads, kv_heads, scale), ends(ints_of(cu_seqlens)) {
    if (heads % kv_heads) throw std::runtime_error("heads must be a multiple of kv_heads");
    if (documents < 0 || ends[0] != 0 || ends[documents] != tokens) throw std::runtime_error("cu_seqlens must run from 0 to the number of tokens");
    for (int64_t i = 0; i < documents; i++)
      if (ends[i + 1] < ends[i]) throw std::runtime_error("cu_seqlens must not fall");
  }

  int64_t length(int64_t document) const { return ends[document + 1] - ends[document]; }
};

// One head of a tensor (T, heads·width) as rows: element (t, i) at row t, column head·width + i.
struct HeadRows {
  const Tensor* tensor;
  int64_t stride, column;
  Stored stored() const { return plain(tensor->data + column * int64_t(element_size(tensor->dtype)), tensor->dtype, stride); }
  int64_t at(int64_t t) const { return t * stride + column; }
};
HeadRows head_of(const Tensor& t, int64_t head, int64_t width) { return {&t, t.dims[1], head * width}; }

// Rows as the left operand, k along the head.
void pack_left(const Shape& s, const HeadRows& h, int64_t row, int64_t rows, uint32_t* to) { pack<MR>(s.words, {h.stored(), true}, row, rows, 0, s.width, to, s.width_words * MR); }

// Rows as the right operand, k along the head: two panels of NR rows.
void pack_right(const Shape& s, const HeadRows& h, int64_t row, int64_t rows, uint32_t* to) {
  for (int64_t panel = 0; panel * NR < rows; panel++) pack<NR>(s.words, {h.stored(), true}, row + panel * NR, min64(NR, rows - panel * NR), 0, s.width, to + panel * NR * s.width_words, 0);
}

// Columns of the head as the right operand, k down the rows.
void pack_down(const Shape& s, const HeadRows& h, int64_t row, int64_t rows, uint32_t* to) {
  const int64_t n = word_count(s.words, rows);
  Operand o{h.stored(), false};
  for (int64_t column = 0; column < s.width; column += NR) {
    const int64_t columns = min64(NR, s.width - column), nv = ceil_div(columns, VL);
    uint32_t* panel = to + column * n;
    if (nv == 3) pack<3 * VL>(s.words, o, column, columns, row, rows, panel, 0);
    else if (nv == 2) pack<2 * VL>(s.words, o, column, columns, row, rows, panel, 0);
    else pack<VL>(s.words, o, column, columns, row, rows, panel, 0);
  }
}

// sums (MR, width) += left panel · what pack_down made.
inline void multiply_down(const Shape& s, int64_t n, const uint32_t* left, const uint32_t* right, float* sums) {
  for (int64_t column = 0; column < s.width; column += NR) {
    const int64_t nv = min64(kVectors, ceil_div(s.width - column, VL));
    run_micro(s.pairs, int(nv), n, left, right + column * n, nv * VL, sums + column, s.padded, true);
  }
}

// tile (BR, BC) = left · rightᵀ for `rows` queries and `keys` keys.
inline void scores(const Shape& s, const uint32_t* left, int64_t rows, const uint32_t* right, int64_t keys, float* tile) {
  for (int64_t panel = 0; panel * NR < keys; panel++)
    for (int64_t i = 0; i < rows; i += MR)
      run_micro(s.pairs, kVectors, s.width_words, left + i * s.width_words, right + panel * NR * s.width_words, NR, tile + i * BC + panel * NR, BC, false);
}

// Keys of a tile that query `row` sees, both counted from the start of the document.
inline int64_t visible(int64_t row, int64_t key0, int64_t keys) { return max64(0, min64(keys, row - key0 + 1)); }

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

void forward_tile(const Shape& s, Call& call, const HeadRows& q, int64_t head, Tile tile, const uint32_t* keys, const uint32_t* values, uint32_t* room) {
  const Tensor &y = *call.out[attention_out::y], &lse = *call.out[attention_out::lse];
  const int64_t start = s.ends[tile.document], length = s.length(tile.document), row0 = tile.index * BR, rows = min64(BR, length - row0);
  uint32_t* left = room;
  uint32_t* weights = left + BR * s.width_words;
  float* grid = reinterpret_cast<float*>(weights + BR * s.key_words);
  float* sums = grid + BR * BC;
  float most[BR], total[BR];
  pack_left(s, q, start + row0, rows, left);
  std::memset(sums, 0, size_t(BR * s.padded) * 4);
  for (int64_t i = 0; i < BR; i++) most[i] = -__builtin_inff(), total[i] = 0;
  for (int64_t j = 0; j * BC < row0 + rows; j++) {
    const int64_t key0 = j * BC, count = min64(BC, length - key0);
    scores(s, left, rows, keys + j * BC * s.width_words, count, grid);
    for (int64_t i = 0; i < rows; i++) {
      float* z = grid + i * BC;
      const int64_t seen = visible(row0 + i, key0, count);
      for (int64_t c = seen; c < BC; c++) z[c] = -__builtin_inff();
      if (seen == 0) {
        std::memset(z, 0, BC * 4);
        continue;
      }
      vf top = splat(most[i]);
      for (int64_t c = 0; c < BC; c += VL) {
        const vf v = load(z + c) * s.scale;
        store(z + c, v);
        top = max(top, v);
      }
      const float next = max_lanes(top), shrink = exp(splat(most[i] - next))[0];
      vf lanes{};
      for (int64_t c = 0; c < BC; c += VL) {
        const vf p = exp(load(z + c) - next);
        store(z + c, p);
        lanes += p;
      }
      total[i] = total[i] * shrink + sum_lanes(lanes);
      if (next != most[i])
        for (int64_t c = 0; c < s.padded; c += VL) store(sums + i * s.padded + c, load(sums + i * s.padded + c) * shrink);
      most[i] = next;
    }
    const int64_t n = word_count(s.words, count);
    pack<MR>(s.words, {plain(grid, Dtype::f32, BC), true}, 0, rows, 0, count, weights, n * MR);
    for (int64_t i = 0; i < rows; i += MR) multiply_down(s, n, weights + i * n, values + j * s.key_words * s.padded, sums + i * s.padded);
  }
  for (int64_t i = 0; i < rows; i++) {
    float* row = sums + i * s.padded;
    for (int64_t c = 0; c < s.padded; c += VL) store(row + c, load(row + c) / total[i]);
    write_row(y, head_of(y, head, s.width).at(start + row0 + i), s.width, row);
    floats_of(lse)[head * s.tokens + start + row0 + i] = most[i] + __builtin_logf(total[i]);
  }
}

// Cuts a room into pieces, each at a cache line.
struct Cutter {
  uint32_t* at;
  template <class T = uint32_t>
  T* take(int64_t words) {
    T* piece = reinterpret_cast<T*>(at);
    at += ceil_div(words, 16) * 16;
    return piece;
  }
};

// What the backward pass of one document and key head works in; `size` counts words when at is null.
struct Room {
  uint32_t *keys, *keys_down, *values, *queries, *queries_down, *grads, *grads_down, *weights;
  float *dk, *dv, *dq, *delta, *grid, *dgrid;
  int64_t size;

  Room(const Sizes& s, int64_t length, uint32_t* at) {
    const int64_t key_tiles = ceil_div(length, BC), query_tiles = ceil_div(length, BR);
    Cutter cut{at};
    keys = cut.take(key_tiles * BC * s.width_words);
    keys_down = cut.take(key_tiles * s.key_words * s.padded);
    values = cut.take(key_tiles * BC * s.width_words);
    dk = cut.take<float>(key_tiles * BC * s.padded);
    dv = cut.take<float>(key_tiles * BC * s.padded);
    queries = cut.take(query_tiles * BR * s.width_words);
    queries_down = cut.take(query_tiles * s.query_words * s.padded);
    grads = cut.take(query_tiles * BR * s.width_words);
    grads_down = cut.take(query_tiles * s.query_words * s.padded);
    dq = cut.take<float>(query_tiles * BR * s.padded);
    delta = cut.take<float>(query_tiles * BR);
    weights = cut.take((BC + VL) * (BR + VL));
    grid = cut.take<float>(BR * BC);
    dgrid = cut.take<float>(BR * BC);
    size = cut.at - at;
  }
};

// One tile of queries against one tile of keys: adds to dq, dk and dv.
void backward_tile(const Shape& s, const Room& room, const float* lse, int64_t i, int64_t j, int64_t length) {
  const int64_t row0 = i * BR, rows = min64(BR, length - row0), key0 = j * BC, keys = min64(BC, length - key0);
  scores(s, room.queries + row0 * s.width_words, rows, room.keys + key0 * s.width_words, keys, room.grid);
  scores(s, room.grads + row0 * s.width_words, rows, room.values + key0 * s.width_words, keys, room.dgrid);
  for (int64_t r = 0; r < rows; r++) {
    float *z = room.grid + r * BC, *d = room.dgrid + r * BC;
    const int64_t seen = visible(row0 + r, key0, keys);
    for (int64_t c = 0; c < seen; c += VL) {
      const vf p = exp(load(z + c) * s.scale - lse[row0 + r]);
      store(z + c, p);
      store(d + c, p * (load(d + c) - room.delta[row0 + r]) * s.scale);
    }
    for (int64_t c = seen; c < BC; c++) z[c] = d[c] = 0;
  }
  const int64_t query_words = word_count(s.words, rows), key_words = word_count(s.words, keys);
  pack<MR>(s.words, {plain(room.grid, Dtype::f32, BC), false}, 0, keys, 0, rows, room.weights, query_words * MR);
  for (int64_t c = 0; c < keys; c += MR) multiply_down(s, query_words, room.weights + c * query_words, room.grads_down + i * s.query_words * s.padded, room.dv + (key0 + c) * s.padded);
  pack<MR>(s.words, {plain(room.dgrid, Dtype::f32, BC), false}, 0, keys, 0, rows, room.weights, query_words * MR);
  for (int64_t c = 0; c < keys; c += MR) multiply_down(s, query_words, room.weights + c * query_words, room.queries_down + i * s.query_words * s.padded, room.dk + (key0 + c) * s.padded);
  pack<MR>(s.words, {plain(room.dgrid, Dtype::f32, BC), true}, 0, rows, 0, keys, room.weights, key_words * MR);
  for (int64_t r = 0; r < rows; r += MR) multiply_down(s, key_words, room.weights + r * key_words, room.keys_down + j * s.key_words * s.padded, room.dq + (row0 + r) * s.padded);
}

}  // namespace

void attention(Call& call) {
  const Tensor &q = *call.in[attention_in::q], &k = *call.in[attention_in::k], &v = *call.in[attention_in::v];
  const auto attrs = AttentionAttrs::read(call.attrs);
  const Shape s(q, *call.in[attention_in::cu_seqlens], attrs.heads, attrs.kv_heads, attrs.scale);
  const int64_t key_tiles = list_tiles(s, BC, nullptr), query_tiles = list_tiles(s, BR, nullptr), key_size = s.key_size(), value_size = s.value_size();
  Tile* keys = static_cast<Tile*>(shared_room(call.workspace, 0, tile_bytes(key_tiles + query_tiles)));
  Tile* queries = keys + key_tiles;
  list_tiles(s, BC, keys);
  list_tiles(s, BR, queries);
  uint32_t* packed = static_cast<uint32_t*>(shared_room(call.workspace, 1, s.packed_bytes(key_tiles)));
  uint32_t* packed_values = packed + s.kv_heads * key_tiles * key_size;
  parallel(call, s.kv_heads * key_tiles, [&](int64_t task, int) {
    const int64_t head = task / key_tiles, tile = task % key_tiles;
    const int64_t row = s.ends[keys[tile].document] + keys[tile].index * BC, rows = min64(BC, s.ends[keys[tile].document + 1] - row);
    pack_right(s, head_of(k, head, s.width), row, rows, packed + task * key_size);
    pack_down(s, head_of(v, head, s.width), row, rows, packed_values + task * value_size);
  });
  parallel(call, s.heads * query_tiles, [&](int64_t task, int thread) {
    // Last tiles of a document see the most keys; they go first.
    const int64_t head = task % s.heads, tile = query_tiles - 1 - task / s.heads, kv = head * s.kv_heads / s.heads;
    int64_t first = 0;
    while (keys[first].document != queries[tile].document) first++;
    uint32_t* room = static_cast<uint32_t*>(thread_room(call.workspace, thread, 0, s.forward_bytes()));
    forward_tile(s, call, head_of(q, head, s.width), head, queries[tile], packed + (kv * key_tiles + first) * key_size, packed_values + (kv * key_tiles + first) * value_size, room);
  });
}

void attention_rooms(const Call& call, Rooms& rooms) {
  const auto attrs = AttentionAttrs::read(call.attrs);
  const Sizes s(*call.in[attention_in::q], *call.in[attention_in::cu_seqlens], attrs.heads, attrs.kv_heads, attrs.scale);
  rooms.add_shared(0, tile_bytes(s.most_tiles(BC) + s.most_tiles(BR)));
  rooms.add_shared(1, s.packed_bytes(s.most_tiles(BC)));
  rooms.add_own(0, s.forward_bytes());
}

void attention_grad_rooms(const Call& call, Rooms& rooms) {
  const auto attrs = AttentionGradAttrs::read(call.attrs);
  const Sizes s(*call.in[attention_grad_in::q], *call.in[attention_grad_in::cu_seqlens], attrs.heads, attrs.kv_heads, attrs.scale);
  // At most one document of all tokens.
  rooms.add_own(0, size_t(Room(s, s.tokens, nullptr).size) * 4);
  rooms.add_own(1, size_t(s.width) * 4);
  rooms.add_own(2, size_t(s.width) * 4);
}

void attention_grad(Call& call) {
  const Tensor &dy = *call.in[attention_grad_in::dy], &q = *call.in[attention_grad_in::q], &k = *call.in[attention_grad_in::k], &v = *call.in[attention_grad_in::v];
  const Tensor &y = *call.in[attention_grad_in::y], &lse = *call.in[attention_grad_in::lse];
  const Tensor &dq = *call.out[attention_grad_out::dq], &dk = *call.out[attention_grad_out::dk], &dv = *call.out[attention_grad_out::dv];
  const auto attrs = AttentionGradAttrs::read(call.attrs);
  const Shape s(q, *call.in[attention_grad_in::cu_seqlens], attrs.heads, attrs.kv_heads, attrs.scale);
  const int64_t group = s.heads / s.kv_heads;
  parallel(call, s.kv_heads * s.documents, [&](int64_t task, int thread) {
    const int64_t kv = task % s.kv_heads, document = task / s.kv_heads, start = s.ends[document], length = s.length(document);
    if (length == 0) return;
    const int64_t words = Room(s, length, nullptr).size;
    const Room room(s, length, static_cast<uint32_t*>(thread_room(call.workspace, thread, 0, size_t(words) * 4)));
    float *a = row_slot(call, thread, 1, s.width), *b = row_slot(call, thread, 2, s.width);
    const int64_t key_tiles = ceil_div(length, BC), query_tiles = ceil_div(length, BR);
    const HeadRows keys = head_of(k, kv, s.width), values = head_of(v, kv, s.width);
    std::memset(room.dk, 0, size_t(key_tiles * BC * s.padded) * 4);
    std::memset(room.dv, 0, size_t(key_tiles * BC * s.padded) * 4);
    for (int64_t j = 0; j < key_tiles; j++) {
      const int64_t row = start + j * BC, rows = min64(BC, length - j * BC);
      pack_right(s, keys, row, rows, room.keys + j * BC * s.width_words);
      pack_right(s, values, row, rows, room.values + j * BC * s.width_words);
      pack_down(s, keys, row, rows, room.keys_down + j * s.key_words * s.padded);
    }
    for (int64_t head = kv * group; head < (kv + 1) * group; head++) {
      const HeadRows queries = head_of(q, head, s.width), grads = head_of(dy, head, s.width), outs = head_of(y, head, s.width);
      std::memset(room.dq, 0, size_t(query_tiles * BR * s.padded) * 4);
      for (int64_t i = 0; i < query_tiles; i++) {
        const int64_t row = start + i * BR, rows = min64(BR, length - i * BR);
        pack_left(s, queries, row, rows, room.queries + i * BR * s.width_words);
        pack_left(s, grads, row, rows, room.grads + i * BR * s.width_words);
        pack_down(s, queries, row, rows, room.queries_down + i * s.query_words * s.padded);
        pack_down(s, grads, row, rows, room.grads_down + i * s.query_words * s.padded);
      }
      for (int64_t t = 0; t < length; t++) room.delta[t] = dot(read_row(dy, grads.at(start + t), s.width, a), read_row(y, outs.at(start + t), s.width, b), s.width);
      for (int64_t j = 0; j < key_tiles; j++)
        for (int64_t i = j * BC / BR; i < query_tiles; i++) backward_tile(s, room, floats_of(lse) + head * s.tokens + start, i, j, length);
      for (int64_t t = 0; t < length; t++) write_row(dq, queries.at(start + t), s.width, room.dq + t * s.padded);
    }
    for (int64_t t = 0; t < length; t++) {
      write_row(dk, keys.at(start + t), s.width, room.dk + t * s.padded);
      write_row(dv, values.at(start + t), s.width, room.dv + t * s.padded);
    }
  });
}

}  // namespace cairn::CAIRN_ISA
