// Tiles of rows of one head in shared memory, for attention on tensor cores: rows of queries or keys with
// `width` numbers each. If the head has fewer, the others are zeros.
#pragma once
#include "attention.h"
#include "ragged.h"
#include "tiles.h"

namespace cairn::cuda {

constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

// Four warps, each with sixteen rows of a tile.
constexpr int kHeadThreads = 128, kHeadRows = 64;

// Copies rows [row, row + rows) of a head. Those from `end` on are zeros.
template <int width, int rows>
__device__ inline void copy_rows(
    uint32_t tile, const void* data, int stride, int column, int head_width, int row, int end) {
  constexpr int kChunks = width / 8;
  const uint16_t* from = static_cast<const uint16_t*>(data) + int64_t(row) * stride + column;
#pragma unroll
  for (int i = 0; i < rows * kChunks / kHeadThreads; i++) {
    const int at = i * kHeadThreads + int(threadIdx.x), r = at / kChunks, chunk = at % kChunks;
    const bool is_there = row + r < end && chunk * 8 < head_width;
    copy_async(tile + chunk_at<width>(r, chunk), is_there ? from + int64_t(r) * stride + chunk * 8 : from,
        is_there);
  }
}

// Sixteen rows as the left operand, sixteen numbers of the head along k.
template <int width>
__device__ inline void load_rows(uint32_t tile, int row, int k, uint32_t (&to)[4]) {
  const int lane = int(threadIdx.x) % kWarp;
  load_matrices(tile + chunk_at<width>(row + lane % 16, k / 8 + lane / 16), to);
}

// Sixteen rows as columns of the right operand, the head along k.
template <int width>
__device__ inline void load_columns(uint32_t tile, int row, int k, uint32_t (&to)[4]) {
  const int lane = int(threadIdx.x) % kWarp;
  load_matrices(tile + chunk_at<width>(row + lane % 8 + lane / 16 * 8, k / 8 + lane / 8 % 2), to);
}

// Sixteen rows as the right operand's k, sixteen numbers of the head as its columns.
template <int width>
__device__ inline void load_down(uint32_t tile, int row, int column, uint32_t (&to)[4]) {
  const int lane = int(threadIdx.x) % kWarp;
  load_transposed(tile + chunk_at<width>(row + lane % 16, column / 8 + lane / 16), to);
}

// sums (16, columns) = rows of `left` from `row` on · all rows of `right`, along the head.
template <int width, int columns>
__device__ inline void multiply_rows(
    uint32_t left, int row, uint32_t right, float (&sums)[columns / 8][4]) {
#pragma unroll
  for (int j = 0; j < columns / 8; j++)
#pragma unroll
    for (int c = 0; c < 4; c++) sums[j][c] = 0;
#pragma unroll
  for (int k = 0; k < width; k += 16) {
    uint32_t a[4];
    load_rows<width>(left, row, k, a);
#pragma unroll
    for (int j = 0; j < columns / 16; j++) {
      uint32_t b[4];
      load_columns<width>(right, j * 16, k, b);
      multiply_add(sums[2 * j], a, b[0], b[1]);
      multiply_add(sums[2 * j + 1], a, b[2], b[3]);
    }
  }
}

// sums (16, width) += weights (16, rows) · rows of `right`. The weights are in registers in the layout of
// sums, and are rounded to bf16.
template <int width, int rows>
__device__ inline void multiply_weights(
    const float (&weights)[rows / 8][4], uint32_t right, float (&sums)[width / 8][4]) {
#pragma unroll
  for (int k = 0; k < rows / 16; k++) {
    const float(&low)[4] = weights[2 * k], (&high)[4] = weights[2 * k + 1];
    const uint32_t a[4] = {pack_bf16(low[0], low[1]), pack_bf16(low[2], low[3]), pack_bf16(high[0], high[1]),
        pack_bf16(high[2], high[3])};
#pragma unroll
    for (int j = 0; j < width / 16; j++) {
      uint32_t b[4];
      load_down<width>(right, k * 16, j * 16, b);
      multiply_add(sums[2 * j], a, b[0], b[1]);
      multiply_add(sums[2 * j + 1], a, b[2], b[3]);
    }
  }
}

// Writes sixteen rows of sums from row `row` on. `by` are factors of the upper and the lower eight.
template <int width>
__device__ inline void write_rows(void* data, int stride, int column, int head_width, int row, int end,
    const float (&sums)[width / 8][4], float by_upper, float by_lower) {
  const int lane = int(threadIdx.x) % kWarp;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int r = row + half * 8 + lane / 4;
    if (r >= end) continue;
    uint32_t* to = reinterpret_cast<uint32_t*>(static_cast<uint16_t*>(data) + int64_t(r) * stride + column);
    const float by = half ? by_lower : by_upper;
#pragma unroll
    for (int j = 0; j < width / 8; j++)
      if (j * 8 < head_width)
        to[j * 4 + lane % 4] = pack_bf16(sums[j][half * 2] * by, sums[j][half * 2 + 1] * by);
  }
}

// Whether the query at a row sees a key. Both are rows of the same document.
__device__ inline bool sees(int query, int key, int window) {
  return key <= query && (window == 0 || key > query - window);
}

// The same in fewer instructions and with one register more, for which attention_grad.cu has no room: the
// number of keys, up to its own, that a query sees, and whether one is among them.
__device__ inline unsigned span_of(int window) { return window ? unsigned(window) : 0x80000000u; }
__device__ inline bool is_in_span(int query, int key, unsigned span) { return unsigned(query - key) < span; }

// Whether 64 queries from `query` on all see each of 64 keys from `key` on, and whether one sees one of them.
__device__ inline bool sees_all(int query, int key, int window) {
  return key + kHeadRows <= query + 1 && (window == 0 || key > query + kHeadRows - 1 - window);
}
__device__ inline bool sees_any(int query, int key, int window) {
  return key < query + kHeadRows && (window == 0 || key + kHeadRows - 1 > query - window);
}

// Finds a tile of queries. The last tile of a document sees the most keys, so it comes first. Documents are
// in order, because packed rows start with their longest.
__device__ inline bool find_queries(const Attention& p, int size, int index, RaggedTile& tile) {
  if (!find_tile(p.cu_seqlens + 1, p.documents, size, index, tile)) return false;
  const int tiles = (tile.end - tile.start + size - 1) / size;
  tile.row = 2 * tile.start + (tiles - 1) * size - tile.row;
  return true;
}

// The first key that queries from `row` on see, in whole tiles from the start of the document.
__device__ inline int first_key(const RaggedTile& tile, int window) {
  const int first = window ? tile.row - window + 1 : tile.start;
  return first <= tile.start ? tile.start : tile.start + (first - tile.start) / kHeadRows * kHeadRows;
}

}  // namespace cairn::cuda
