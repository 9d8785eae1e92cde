// Operands of matmul_fp8.cu and matmul_fp4.cu: a left operand rounded to codes, and the transposed codes of a
// weight in fp8, which sm_90's tensor core reads along k only.
#include "codes.h"

#include "floats.h"
#include "round.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kRun = 16, kSide = 128;

// Columns [column, column + 8) of a row, zeros past its end.
__device__ inline void read_pack(
    const void* x, Dtype dtype, int64_t columns, int64_t row, int64_t column, float (&to)[kPack]) {
  const int64_t at = row * columns + column;
  if (columns % kPack == 0 && column < columns && reinterpret_cast<uintptr_t>(x) % 16 == 0)
    return load_pack(x, dtype, at, to);
#pragma unroll
  for (int i = 0; i < kPack; i++) to[i] = column + i < columns ? load_float(x, dtype, at + i) : 0.0f;
}

// The code of a number on the grid of round_nearest.
template <int mantissa, int min_exponent, int sign_bit = 7>
__device__ inline uint32_t code_of(float v) {
  const uint32_t size = bits_of(v) & 0x7fffffff, sign = bits_of(v) >> 31 << sign_bit;
  if (float_of(size) < power_of_two(min_exponent))
    return sign | uint32_t(float_of(size) * power_of_two(mantissa - min_exponent));
  return sign | ((size >> (23 - mantissa)) - ((126 + min_exponent) << mantissa));
}

// A thread takes eight neighbours of a row, so that a warp reads whole sectors of bf16.
template <bool is_e5m2>
__device__ inline void round_codes(const RoundCodes& p) {
  const float encode = encode_factor(p.grid, *p.a_amax);
  const int64_t packs_of_row = p.stride / kPack;
  for (int64_t i = first_of_thread(); i < p.rows * packs_of_row; i += threads_of_grid()) {
    const int64_t row = i / packs_of_row, column = i % packs_of_row * kPack;
    float values[kPack];
    read_pack(p.x, p.dtype, p.columns, row, column, values);
    uint32_t words[2] = {};
#pragma unroll
    for (int j = 0; j < kPack; j++) {
      const uint32_t code = is_e5m2 ? code_of<2, -14>(round_e5m2(values[j] * encode))
                                    : code_of<3, -6>(round_e4m3(values[j] * encode));
      words[j / 4] |= code << (j % 4 * 8);
    }
    *reinterpret_cast<uint2*>(p.to + row * p.stride + column) = make_uint2(words[0], words[1]);
  }
}

// Columns of four rows of four codes, the first code in the lowest byte.
__device__ inline void transpose_words(const uint32_t (&rows)[4], uint32_t (&columns)[4]) {
  const uint32_t low01 = __byte_perm(rows[0], rows[1], 0x5140),
                 high01 = __byte_perm(rows[0], rows[1], 0x7362),
                 low23 = __byte_perm(rows[2], rows[3], 0x5140),
                 high23 = __byte_perm(rows[2], rows[3], 0x7362);
  columns[0] = __byte_perm(low01, low23, 0x5410);
  columns[1] = __byte_perm(low01, low23, 0x7632);
  columns[2] = __byte_perm(high01, high23, 0x5410);
  columns[3] = __byte_perm(high01, high23, 0x7632);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) round_e4m3_codes(const __grid_constant__ RoundCodes p) {
  round_codes<false>(p);
}
extern "C" __global__ void __launch_bounds__(256) round_e5m2_codes(const __grid_constant__ RoundCodes p) {
  round_codes<true>(p);
}

// A thread rounds one block, so two loads of a warp read the halves of the same sectors of bf16.
extern "C" __global__ void __launch_bounds__(256) round_nvfp4_codes(const __grid_constant__ RoundBlocks p) {
  const float encode = encode_factor(Grid::nvfp4, *p.a_amax);
  for (int64_t i = first_of_thread(); i < p.blocks; i += threads_of_grid()) {
    float values[kRun];
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float pack[kPack];
      read_pack(p.x, p.dtype, p.blocks * kRun, 0, i * kRun + half * kPack, pack);
#pragma unroll
      for (int j = 0; j < kPack; j++) values[half * kPack + j] = pack[j];
    }
    const BlockFactors block = block_factors(encode, values);
    uint32_t words[2] = {};
#pragma unroll
    for (int j = 0; j < kRun; j++)
      words[j / 8] |= code_of<1, 0, 3>(round_e2m1(values[j] * block.before)) << (j % 8 * 4);
    reinterpret_cast<uint2*>(p.codes)[i] = make_uint2(words[0], words[1]);
    p.scales[i] = uint8_t(code_of<3, -6>(block.scale));
  }
}

// One block per tile of 128×128. Chunks of 16 bytes are stored at their index XORed with that of the group
// of sixteen rows, so that a warp, which reads words of eight groups, accesses all banks.
extern "C" __global__ void __launch_bounds__(256) transpose_codes(const __grid_constant__ TransposeCodes p) {
  __shared__ uint4 tile[kSide][kSide / kRun];
  const int across = (p.columns + kSide - 1) / kSide, first_row = int(blockIdx.x) / across * kSide,
            first_column = int(blockIdx.x) % across * kSide, thread = int(threadIdx.x);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int row = thread / 8 + i * 32, chunk = thread % 8, r = first_row + row,
              c = first_column + chunk * kRun;
    tile[row][chunk ^ row / kRun] =
        r < p.rows && c < p.columns
            ? *reinterpret_cast<const uint4*>(p.from + int64_t(r) * p.columns + c)
            : make_uint4(0, 0, 0, 0);
  }
  __syncthreads();
  // Each thread makes sixteen codes of four rows of the copy.
  const int group = thread % 8, word = thread / 8;
  uint32_t made[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    uint32_t rows[4], columns[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
      rows[j] = reinterpret_cast<const uint32_t*>(
          &tile[group * kRun + i * 4 + j][word / 4 ^ group])[word % 4];
    transpose_words(rows, columns);
#pragma unroll
    for (int j = 0; j < 4; j++) made[j][i] = columns[j];
  }
  const int64_t at = first_row + group * kRun;
  if (at >= p.stride) return;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const int column = first_column + word * 4 + j;
    if (column < p.columns)
      *reinterpret_cast<uint4*>(p.to + column * p.stride + at) =
          make_uint4(made[j][0], made[j][1], made[j][2], made[j][3]);
  }
}
