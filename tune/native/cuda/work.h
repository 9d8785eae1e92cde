// The work of a block of a product, its asynchronous copies, and the output of its sums: the same for every
// kind of tensor core.
#pragma once
#include "floats.h"
#include "matmul.h"
#include "ragged.h"
#include "tiles.h"

namespace cairn::cuda {

// The tile of the result that a block computes. Rows are those of a. For an expert, `rows` is the end of its
// rows.
struct ResultTile {
  int row, column, rows;
  // The expert.
  int matrix;
};

// Orders tiles in groups of eight rows of tiles, so that concurrent blocks share what they read.
__device__ inline void tile_of(int block, int tiles_m, int tiles_n, int& m, int& n) {
  constexpr int kGroup = 8;
  const int group = block / (kGroup * tiles_n), first = group * kGroup,
            size = tiles_m - first < kGroup ? tiles_m - first : kGroup, rest = block % (kGroup * tiles_n);
  m = first + rest % size;
  n = rest / size;
}

// Finds tile `index` of the rows of experts.
__device__ inline bool expert_tile_of(const Matmul& p, int size, int index, ResultTile& to) {
  RaggedTile tile;
  if (!find_tile(p.ends, p.experts, size, index, tile)) return false;
  to.matrix = tile.span;
  to.row = tile.row;
  to.rows = tile.end;
  return true;
}

// The factor of the first pair's sums: it compensates for the scale of a rounded a, and applies the scale
// that the weight's numbers lack. As in cpu/linear_rounding.h.
__device__ inline float scale_of(const Matmul& p, int matrix) {
  if (p.grid == Grid::none) return 1;
  const bool is_nvfp4 = p.grid == Grid::nvfp4 || p.grid == Grid::nvfp4_stochastic;
  const float max_value = is_nvfp4               ? 448.0f * 6.0f
                          : p.grid == Grid::e5m2 ? 57344.0f
                                                 : 448.0f,
              min_amax = is_nvfp4 ? 1e-30f : 1e-10f, amax = *p.a_amax > min_amax ? *p.a_amax : min_amax,
              decode = is_nvfp4 ? amax / max_value : 1.0f / (max_value / amax);
  const char* tensor = static_cast<const char*>(p.tensor_scale);
  return tensor ? decode * *reinterpret_cast<const float*>(tensor + matrix * p.weight_next) : decode;
}

// Element (row, column) of the result from its sum, rounded once.
__device__ inline void finish_one(const Matmul& p, int matrix, int64_t row, int column, float sum) {
  float value = p.alpha * sum;
  const int64_t at = row * p.n + column;
  if (p.bias) value += load_float(p.bias, p.bias_dtype, int64_t(matrix) * p.n + column);
  if (p.addend) value += load_float(p.addend, p.addend_dtype, at);
  store_float(p.y, p.y_dtype, at, value);
}

// Two neighbours at once, for a bf16 result without bias and addend.
__device__ inline void finish_two(
    const Matmul& p, int matrix, int64_t row, int column, float first, float second) {
  if (p.y_dtype == Dtype::bf16 && !p.bias && !p.addend && p.n % 2 == 0) {
    reinterpret_cast<uint32_t*>(p.y)[(row * p.n + column) / 2] =
        pack_bf16(p.alpha * first, p.alpha * second);
    return;
  }
  finish_one(p, matrix, row, column, first);
  if (column + 1 < p.n) finish_one(p, matrix, row, column + 1, second);
}

// The work of a block: its place in the result, its operands, and its share of the steps along k, of `depth`
// each. The first `head` steps belong to the first pair.
template <bool a_along_k>
struct Work {
  ResultTile place;
  const uint16_t *a[2], *b[2];
  int k[2];
  // The result's first row, if each expert has its own matrix.
  int64_t y_row = 0;
  int head = 0, first = 0, last = 0;

  // False if there is nothing to do.
  __device__ bool find(const Matmul& p, int rows, int columns, int depth) {
    place = {0, 0, p.m, 0};
    const int tiles_n = (p.n + columns - 1) / columns;
    int tile_m, tile_n;
    tile_of(int(blockIdx.x), int(gridDim.x) / tiles_n, tiles_n, tile_m, tile_n);
    place.row = tile_m * rows;
    place.column = tile_n * columns;
    for (int i = 0; i < 2; i++) a[i] = p.a[i], b[i] = p.b[i], k[i] = p.k[i];
    if (a_along_k && p.ends) {
      if (!expert_tile_of(p, rows, tile_m, place)) return false;
      for (int i = 0; i < 2; i++) b[i] += place.matrix * p.b_next[i];
    } else if (p.ends) {
      const int e = place.matrix = int(blockIdx.z), start = e > 0 ? p.ends[e - 1] : 0;
      a[0] += start * p.lda[0];
      b[0] += start * p.ldb[0];
      k[0] = p.ends[e] - start;
      y_row = int64_t(e) * p.m;
    }
    if (p.live_rows) {
      const int live = *p.live_rows - p.first_row;
      place.rows = live < place.rows ? live : place.rows;
    }
    head = (k[0] + depth - 1) / depth;
    const int64_t all = head + (k[1] + depth - 1) / depth;
    first = int(all * blockIdx.y / p.splits);
    last = int(all * (blockIdx.y + 1) / p.splits);
    return place.row < place.rows;
  }

  // Whether this block's share of the first pair's sums is complete after `step`.
  __device__ bool ends_head(int step) const { return step < head && (step + 1 == head || step + 1 == last); }
};

// Copies the steps of both operands one after the other.
template <class TileA, class TileB, int depth>
struct Copier {
  TileA left;
  TileB right;
  int step;

  template <class Work>
  __device__ Copier(const Matmul& p, const Work& w)
      : left(w.a[0], p.lda[0], w.place.row, w.place.rows),
        right(w.b[0], p.ldb[0], w.place.column, p.n),
        step(w.first) {}

  // Copies the step's operands to `tile`, without the first b if `skips_right`. Returns the position along
  // the first pair's k, or −1.
  template <class Work>
  __device__ int copy(const Matmul& p, const Work& w, uint32_t tile, bool skips_right) {
    const bool is_second = step >= w.head;
    if (step == w.head || (is_second && step == w.first)) {
      left = TileA(w.a[1], p.lda[1], w.place.row, w.place.rows);
      right = TileB(w.b[1], p.ldb[1], w.place.column, p.n);
    }
    const int at = (is_second ? step - w.head : step) * depth, end = is_second ? w.k[1] : w.k[0];
    left.copy(tile, at, end);
    if (!skips_right || is_second) right.copy(tile + TileA::kBytes, at, end);
    return is_second ? -1 : at;
  }
};

// Runs body(row, column, sum, sum of the next column) for this thread's numbers in 16 rows from `row` on, one
// fragment per eight columns from `column` on. Both are counted from the tile's first.
template <int parts, class Work, class Body>
__device__ inline void over_sums(
    const Matmul& p, const Work& w, int row, int column, float (&sums)[parts][4], Body body) {
  const int lane = int(threadIdx.x) % kWarp;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int r = w.place.row + row + half * 8 + lane / 4;
    if (r >= w.place.rows) continue;
#pragma unroll
    for (int j = 0; j < parts; j++) {
      const int c = w.place.column + column + j * 8 + lane % 4 * 2;
      if (c < p.n) body(r, c, sums[j][half * 2], sums[j][half * 2 + 1]);
    }
  }
}

template <int parts, class Work>
__device__ inline void write_sums(
    const Matmul& p, const Work& w, int row, int column, float (&sums)[parts][4]) {
  over_sums(p, w, row, column, sums, [&](int r, int c, float one, float two) {
    finish_two(p, w.place.matrix, w.y_row + r, c, one, two);
  });
}

// For blocks that share k: writes this block's sums to `partial`.
template <int parts, class Work>
__device__ inline void write_partial(
    const Matmul& p, const Work& w, int row, int column, float (&sums)[parts][4]) {
  over_sums(p, w, row, column, sums, [&](int r, int c, float one, float two) {
    float* const to = p.partial + (int64_t(blockIdx.y) * p.m + r) * p.n + c;
    if (p.n % 2 == 0) {
      *reinterpret_cast<float2*>(to) = make_float2(one, two);
      return;
    }
    to[0] = one;
    if (c + 1 < p.n) to[1] = two;
  });
}

// Adds the partial sums of all blocks that share k, from the first block to the last.
template <int parts, class Work>
__device__ inline void add_partial(
    const Matmul& p, const Work& w, int row, int column, float (&sums)[parts][4]) {
  const int64_t next = int64_t(p.m) * p.n;
  over_sums(p, w, row, column, sums, [&](int r, int c, float& one, float& two) {
    const float* from = p.partial + int64_t(r) * p.n + c;
    const bool is_pair = p.n % 2 == 0, has_two = c + 1 < p.n;
    for (int split = 0; split < p.splits; split++, from += next) {
      const float2 part = is_pair ? *reinterpret_cast<const float2*>(from)
                                  : make_float2(from[0], has_two ? from[1] : 0);
      one = split == 0 ? part.x : one + part.x;
      two = split == 0 ? part.y : two + part.y;
    }
  });
}

}  // namespace cairn::cuda
