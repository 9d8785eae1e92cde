// The product of matrices on tensor cores, in tiles: what every kernel of matmul*.cu is.
//
// A block makes a square tile of the result. It walks along k in steps of 32: while it multiplies one step
// from shared memory, copies of the next ones are on their way. Each of its warps keeps a part of the tile's
// sums in registers. The second pair's steps follow those of the first, into the same sums. A sum's order is
// that of k, whatever the tile; where k is shared out over blocks, how follows from the shape.
#pragma once
#include "floats.h"
#include "matmul.h"
#include "ragged.h"
#include "tiles.h"

namespace cairn::cuda {

constexpr int kStages = 3;

// 128×128 with eight warps of 64×32, 64×64 with four of 32×32.
template <int size>
struct TileShape {
  static constexpr int kThreads = size == 128 ? 256 : 128, kWarpM = size == 128 ? 64 : 32, kWarpN = 32,
                       kWarpsN = size / kWarpN, kPartsM = kWarpM / 16, kPartsN = kWarpN / 8;
};

// What a block works on. Rows are those of a; of an expert's rows, `rows` is the end.
struct Place {
  int row, column, rows;
  // The expert.
  int matrix;
};

// Tiles are taken in groups of eight rows of them, so that blocks that run at a time share what they read.
__device__ inline void place_of(int block, int tiles_m, int tiles_n, int& m, int& n) {
  constexpr int kGroup = 8;
  const int group = block / (kGroup * tiles_n), first = group * kGroup,
            size = tiles_m - first < kGroup ? tiles_m - first : kGroup, rest = block % (kGroup * tiles_n);
  m = first + rest % size;
  n = rest / size;
}

// The tile of rows `index` where rows are of experts.
__device__ inline bool place_of_expert(const Matmul& p, int size, int index, Place& to) {
  RaggedTile tile;
  if (!find_tile(p.ends, p.experts, size, index, tile)) return false;
  to.matrix = tile.span;
  to.row = tile.row;
  to.rows = tile.end;
  return true;
}

// What the sums of the first pair are multiplied by: it undoes the scale of a rounded a and, where the
// weight's numbers are without theirs, of b. As cpu/linear_rounding.h.
__device__ inline float scale_of(const Matmul& p, int matrix) {
  if (p.grid == Grid::none) return 1;
  const bool is_nvfp4 = p.grid == Grid::nvfp4 || p.grid == Grid::nvfp4_stochastic;
  const float most = is_nvfp4 ? 448.0f * 6.0f : p.grid == Grid::e5m2 ? 57344.0f : 448.0f,
              least = is_nvfp4 ? 1e-30f : 1e-10f, amax = *p.a_amax > least ? *p.a_amax : least,
              decode = is_nvfp4 ? amax / most : 1.0f / (most / amax);
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

// Two neighbours at once where the result is bf16 and nothing but the sum counts.
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

// A right operand that is copied as it is. Others decode it: they fetch the codes of a step into registers,
// and put what they make of them into shared memory once the step before is done.
struct PlainRight {
  static constexpr bool kDecodes = false;
  __device__ PlainRight(const Matmul&, const Place&) {}
  __device__ void fetch(int) {}
  __device__ void put(char*) const {}
};

// One block of a product; `a_along_k` and `b_along_k` say which of an operand's sides its rows lie along.
template <int size, bool a_along_k, bool b_along_k, class Right>
__device__ inline void multiply(const Matmul& p) {
  using Shape = TileShape<size>;
  using TileA = OperandTile<a_along_k, size, Shape::kThreads>;
  using TileB = OperandTile<b_along_k, size, Shape::kThreads>;
  extern __shared__ uint4 shared[];
  char* const tiles = reinterpret_cast<char*>(shared);
  constexpr int kStageBytes = TileA::kBytes + TileB::kBytes;

  Place place{0, 0, p.m, 0};
  const int tiles_n = (p.n + size - 1) / size;
  int tile_m, tile_n;
  place_of(int(blockIdx.x), int(gridDim.x) / tiles_n, tiles_n, tile_m, tile_n);
  place.row = tile_m * size;
  place.column = tile_n * size;
  const uint16_t *a[2] = {p.a[0], p.a[1]}, *b[2] = {p.b[0], p.b[1]};
  int k[2] = {p.k[0], p.k[1]};
  int64_t y_row = 0;  // of the result's first matrix row, where each expert has a matrix of its own
  if constexpr (a_along_k) {
    if (p.ends && !place_of_expert(p, size, tile_m, place)) return;
  } else if (p.ends) {
    const int e = place.matrix = int(blockIdx.z), start = e > 0 ? p.ends[e - 1] : 0;
    a[0] += start * p.lda[0];
    b[0] += start * p.ldb[0];
    k[0] = p.ends[e] - start;
    y_row = int64_t(e) * p.m;
  }
  if (a_along_k && p.ends) {
    b[0] += place.matrix * p.b_next[0];
    b[1] += place.matrix * p.b_next[1];
  }
  if (p.live_rows) {
    const int live = *p.live_rows - p.first_row;
    place.rows = live < place.rows ? live : place.rows;
  }
  if (place.row >= place.rows) return;

  const int head = (k[0] + kStep - 1) / kStep, all = head + (k[1] + kStep - 1) / kStep,
            first = int(int64_t(all) * blockIdx.y / p.splits),
            last = int(int64_t(all) * (blockIdx.y + 1) / p.splits);
  TileA left(a[0], p.lda[0], place.row, place.rows);
  TileB right(b[0], p.ldb[0], place.column, p.n);
  Right stored(p, place);
  int copied = first;
  // Asks for step `copied` of both operands.
  const auto ask = [&](int stage) {
    if (copied < last) {
      if (copied == head || (copied == first && first > head)) {
        left = TileA(a[1], p.lda[1], place.row, place.rows);
        right = TileB(b[1], p.ldb[1], place.column, p.n);
      }
      const bool is_second = copied >= head;
      const uint32_t to = shared_address(tiles + stage * kStageBytes);
      const int at = (is_second ? copied - head : copied) * kStep, end = is_second ? k[1] : k[0];
      left.copy(to, at, end);
      if (!Right::kDecodes || is_second) right.copy(to + TileA::kBytes, at, end);
      else stored.fetch(at);
    }
    group_copies();
  };
  const auto put = [&](int stage) {
    if (Right::kDecodes && copied < last && copied < head)
      stored.put(tiles + stage * kStageBytes + TileA::kBytes);
    copied++;
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; stage++) {
    ask(stage);
    put(stage);
  }

  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp,
            warp_m = warp / Shape::kWarpsN * Shape::kWarpM, warp_n = warp % Shape::kWarpsN * Shape::kWarpN;
  float sums[Shape::kPartsM][Shape::kPartsN][4] = {};
  int stage = 0;
  for (int step = first; step < last; step++) {
    await_copies<kStages - 2>();
    __syncthreads();
    const int next = stage == 0 ? kStages - 1 : stage - 1;
    ask(next);
    const uint32_t tile = shared_address(tiles + stage * kStageBytes);
#pragma unroll
    for (int at = 0; at < kStep; at += 16) {
      uint32_t of_a[Shape::kPartsM][4], of_b[Shape::kPartsN / 2][4];
#pragma unroll
      for (int i = 0; i < Shape::kPartsM; i++)
        load_left<a_along_k, size>(tile, warp_m + i * 16, at, of_a[i]);
#pragma unroll
      for (int j = 0; j < Shape::kPartsN / 2; j++)
        load_right<b_along_k, size>(tile + TileA::kBytes, warp_n + j * 16, at, of_b[j]);
#pragma unroll
      for (int i = 0; i < Shape::kPartsM; i++)
#pragma unroll
        for (int j = 0; j < Shape::kPartsN; j++)
          multiply_add(sums[i][j], of_a[i], of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]);
    }
    put(next);
    stage = stage + 1 < kStages ? stage + 1 : 0;
    if (p.grid != Grid::none && step < head && (step + 1 == head || step + 1 == last)) {
      const float scale = scale_of(p, place.matrix);
#pragma unroll
      for (int i = 0; i < Shape::kPartsM; i++)
#pragma unroll
        for (int j = 0; j < Shape::kPartsN; j++)
#pragma unroll
          for (int c = 0; c < 4; c++) sums[i][j][c] *= scale;
    }
  }

#pragma unroll
  for (int i = 0; i < Shape::kPartsM; i++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int row = place.row + warp_m + i * 16 + half * 8 + lane / 4;
      if (row >= place.rows) continue;
#pragma unroll
      for (int j = 0; j < Shape::kPartsN; j++) {
        const int column = place.column + warp_n + j * 8 + lane % 4 * 2;
        if (column >= p.n) continue;
        const float one = sums[i][j][half * 2], two = sums[i][j][half * 2 + 1];
        if (p.splits > 1) {
          float* const to = p.partial + (int64_t(blockIdx.y) * p.m + row) * p.n + column;
          to[0] = one;
          if (column + 1 < p.n) to[1] = two;
        } else {
          finish_two(p, place.matrix, y_row + row, column, one, two);
        }
      }
    }
}

template <int size>
constexpr int shared_bytes() {
  return kStages * 2 * size * kStep * 2;
}

}  // namespace cairn::cuda
