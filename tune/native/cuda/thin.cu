// Products of a wide matrix with few columns, as adapters have: x·Aᵀ, dy·B, dyᵀ·z and xᵀ·dz.
//
// A launch has several independent products. Those that read the same wide matrix are a section: their
// columns lie side by side in parts of eight, up to 64, and each tile of the wide matrix is read once for all
// of them. A block multiplies 64 rows of the wide matrix (64 columns if the sums run along its rows) with all
// columns of its section, where tiles of 64×64 would multiply columns that do not exist.
//
// Sums have the order of the kernels in matmul.cu: that of k, divided among blocks in the same places, and
// the last block of a tile adds the partial sums in order. So results are theirs in every bit.
#include "thin.h"

#include "floats.h"
#include "tiles.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kWideBytes = kThinTile * kThinDepth * 2;

// The thin operand of a section, copied a step of k at a time. Rows in shared memory run along k (nt), or
// each has all parts of one k.
template <int parts, bool along_k>
struct ThinTile {
  static constexpr int kPasses = parts / 2;
  static constexpr int kBytes = along_k ? parts * kPart * kThinDepth * 2 : kThinDepth * 128;

  const uint16_t* from[kPasses];
  int32_t step[kPasses];
  bool is_there[kPasses];
  int row, chunk;

  __device__ explicit ThinTile(const ThinSection& s) {
    const int thread = int(threadIdx.x);
    if (along_k) {
      row = thread / 8;
      chunk = thread % 8;
    } else {
      // Two threads copy neighbouring parts. Eight threads copy every other row, in different banks.
      const int pair = thread / 2;
      row = pair / 8 * 8 + pair % 4 * 2 + pair / 4 % 2;
      chunk = thread % 2;
    }
#pragma unroll
    for (int i = 0; i < kPasses; i++) {
      const bool is_second = along_k ? row >= kPart : chunk > 0;
      const ThinPart& part = is_second ? s.part[2 * i + 1] : s.part[2 * i];
      step[i] = along_k ? 1 : part.n;
      is_there[i] = part.column + (along_k ? row % kPart : 0) < part.n;
      from[i] = part.from + (along_k ? int64_t(row % kPart) * s.columns + chunk * 8 : int64_t(row) * part.n);
    }
  }

  // Copies the numbers from k on, out of `count` in all.
  __device__ void copy(uint32_t tile, int k, int count) const {
#pragma unroll
    for (int i = 0; i < kPasses; i++) {
      const bool is_inside = is_there[i] && k + (along_k ? chunk * 8 : row) < count;
      const uint32_t to =
          along_k ? chunk_at<kThinDepth>(row + i * 16, chunk) : chunk_at<64>(row, 2 * i + chunk);
      copy_async(tile + to, is_inside ? from[i] + int64_t(k) * step[i] : from[i], is_inside);
    }
  }
};

// Runs body(row of the tile, part, sum, sum of the next column) for this thread's numbers.
template <int parts, class Body>
__device__ inline void over_parts(float (&sums)[parts][4], Body body) {
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp;
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int j = 0; j < parts; j++)
      body(warp * 16 + half * 8 + lane / 4, j, sums[j][half * 2], sums[j][half * 2 + 1]);
}

// Column of a thread's first number in a part.
__device__ inline int column_in_part() { return int(threadIdx.x) % 4 * 2; }

__device__ inline void finish(const ThinPart& part, int64_t at, float sum) {
  const float value = part.alpha * sum;
  store_float(part.y, part.y_dtype, at, part.addend ? value + part.addend[at] : value);
}

// Two neighbours of a row, which start at an even number.
__device__ inline void finish_pair(const ThinPart& part, int64_t at, float first, float second) {
  float2 value = make_float2(part.alpha * first, part.alpha * second);
  if (part.y_dtype == Dtype::bf16) {
    static_cast<uint32_t*>(part.y)[at / 2] = pack_bf16(value.x, value.y);
    return;
  }
  if (part.addend) {
    const float2 added = reinterpret_cast<const float2*>(part.addend)[at / 2];
    value = make_float2(value.x + added.x, value.y + added.y);
  }
  static_cast<float2*>(part.y)[at / 2] = value;
}

// Row `row` of the product, from column `column` of its operand on.
__device__ inline void finish_part(
    const ThinSection& s, const ThinPart& part, int64_t row, int column, float first, float second) {
  if (column >= part.n) return;
  const int64_t at = part.is_transposed ? column * int64_t(s.columns) + row : row * part.n + column,
                next = part.is_transposed ? s.columns : 1;
  if (next == 1 && part.n % 2 == 0) return finish_pair(part, at, first, second);
  finish(part, at, first);
  if (column + 1 < part.n) finish(part, at + next, second);
}

// For blocks that share k: leaves this block's sums. Returns whether it is the last of its tile, and has the
// sums of all.
template <int parts>
__device__ inline bool add_shares(const ThinSection& s, int tile, int split, float (&sums)[parts][4]) {
  constexpr int kColumns = parts * kPart;
  const int64_t share = int64_t(s.tiles) * kThinTile * kColumns;
  float* const partial = s.partial + int64_t(tile) * kThinTile * kColumns + column_in_part();
  over_parts(sums, [&](int row, int j, float one, float two) {
    *reinterpret_cast<float2*>(partial + split * share + row * kColumns + j * kPart) = make_float2(one, two);
  });
  // The last block adds in order of the blocks, so the order does not depend on which is last.
  if (!arrives_last(s.arrived + tile, s.splits)) return false;
  over_parts(sums, [&](int row, int j, float& one, float& two) {
    const float* from = partial + row * kColumns + j * kPart;
    for (int i = 0; i < s.splits; i++, from += share) {
      const float2 part = *reinterpret_cast<const float2*>(from);
      one = i == 0 ? part.x : one + part.x;
      two = i == 0 ? part.y : two + part.y;
    }
  });
  return true;
}

template <ThinForm form, int parts, int stages>
__device__ inline void multiply_section(const ThinSection& s, int block) {
  // Whether rows of an operand run along k.
  constexpr bool wide_along = form != ThinForm::tn, thin_along = form == ThinForm::nt;
  using Wide = OperandTile<wide_along, kThinTile, kThinThreads, kThinDepth>;
  using ThinSide = ThinTile<parts, thin_along>;
  constexpr int kStageBytes = kWideBytes + ThinSide::kBytes;
  extern __shared__ uint4 shared[];
  const uint32_t tiles = shared_address(shared);

  const int tile = block % s.tiles, split = block / s.tiles;
  const int length = wide_along ? s.columns : s.rows, across = wide_along ? s.rows : s.columns;
  const int64_t units = (length + s.split_depth - 1) / s.split_depth;
  const int first = int(units * split / s.splits) * s.split_depth,
            end = min(length, int(units * (split + 1) / s.splits) * s.split_depth);
  const Wide wide(s.wide, s.columns, tile * kThinTile, across);
  const ThinSide thin(s);
  int next = first, to = 0;
  const auto start_copy = [&] {
    if (next < end) {
      wide.copy(tiles + to * kStageBytes, next, end);
      thin.copy(tiles + to * kStageBytes + kWideBytes, next, end);
    }
    next += kThinDepth;
    to = to + 1 < stages ? to + 1 : 0;
    group_copies();
  };
#pragma unroll
  for (int i = 0; i < stages - 1; i++) start_copy();

  const int warp = int(threadIdx.x) / kWarp;
  float sums[parts][4] = {};
  int stage = 0;
  for (int k = first; k < end; k += kThinDepth) {
    await_copies<stages - 2>();
    __syncthreads();
    start_copy();
    const uint32_t at = tiles + stage * kStageBytes;
#pragma unroll
    for (int i = 0; i < kThinDepth; i += 16) {
      uint32_t of_wide[4], of_thin[parts / 2][4];
      load_left<wide_along, kThinDepth>(at, warp * 16, i, of_wide);
#pragma unroll
      for (int j = 0; j < parts / 2; j++)
        load_right<thin_along, kThinDepth>(at + kWideBytes, j * 16, i, of_thin[j]);
#pragma unroll
      for (int j = 0; j < parts; j++)
        multiply_add(sums[j], of_wide, of_thin[j / 2][j % 2 * 2], of_thin[j / 2][j % 2 * 2 + 1]);
    }
    stage = stage + 1 < stages ? stage + 1 : 0;
  }
  if (s.splits > 1 && !add_shares(s, tile, split, sums)) return;
  over_parts(sums, [&](int row, int j, float one, float two) {
    const int64_t y_row = int64_t(tile) * kThinTile + row;
    if (y_row < across)
      finish_part(s, s.part[j], y_row, s.part[j].column + column_in_part(), one, two);
  });
}

// The section of this block.
__device__ inline const ThinSection& section_of(const Thin& p) {
  int i = 0;
  while (i + 1 < p.sections && int(blockIdx.x) >= p.section[i + 1].first_block) i++;
  return p.section[i];
}

template <int parts>
__device__ inline void multiply_inputs(const Thin& p) {
  const ThinSection& s = section_of(p);
  multiply_section<ThinForm::nt, parts, kInputStages>(s, int(blockIdx.x) - s.first_block);
}

template <int parts>
__device__ inline void multiply_gradients(const Thin& p) {
  const ThinSection& s = section_of(p);
  const int block = int(blockIdx.x) - s.first_block;
  if (s.form == ThinForm::nn) multiply_section<ThinForm::nn, parts, kGradientStages>(s, block);
  else multiply_section<ThinForm::tn, parts, kGradientStages>(s, block);
}

}  // namespace

#define CAIRN_THIN(parts, columns)                                                                           \
  extern "C" __global__ void __launch_bounds__(kThinThreads, 4) thin_nt_##columns(                           \
      const __grid_constant__ Thin p) {                                                                      \
    multiply_inputs<parts>(p);                                                                               \
  }                                                                                                          \
  extern "C" __global__ void __launch_bounds__(kThinThreads, 4) thin_grad_##columns(                         \
      const __grid_constant__ Thin p) {                                                                      \
    multiply_gradients<parts>(p);                                                                            \
  }
CAIRN_THIN(2, 16)
CAIRN_THIN(4, 32)
CAIRN_THIN(6, 48)
CAIRN_THIN(8, 64)
