// Products of NVFP4 operands on sm_120's tensor cores: activations rounded to E2M1 codes with a stored weight
// (nt). The second pair is bf16, as in matmul_tiles.h, whose tiles these are.
//
// How many bits of a sum these tensor cores keep is not public. So, as in matmul_fp8.cu, a sum runs along one
// step, of 128 k, and is then added to the sums in f32.
#include "e2m1.h"
#include "matmul_fp4.h"
#include "matmul_tiles.h"

using namespace cairn::cuda;

namespace {

constexpr int kTile = 128, kThreads = TileShape<kTile>::kThreads;

#if defined(__CUDA_ARCH_FEAT_SM120_ALL)

using Shape = TileShape<kTile>;
// Rows of a step have 32 groups of four codes, or 32 numbers in bf16.
using Operand = OperandTile<true, kTile, kThreads>;
constexpr int kBuffers = 4, kScalesOfRow = kStep * 4 / int(cairn::kNvfp4Block),
              kScaleBytes = kTile * kScalesOfRow, kStageBytes = 2 * (Operand::kBytes + kScaleBytes);
static_assert(kScalesOfRow == 8 && kThreads == kTile * 2, "a thread copies half of a row's scales");

// Scales of a tile's rows, in words of four.
struct ScaleTile {
  const uint8_t* from;
  int row, word;
  bool is_row;

  // `first` is the first of the tile's `count` rows or columns across k.
  __device__ ScaleTile(const uint8_t* scales, int64_t of_row, int first, int count)
      : row(int(threadIdx.x) / 2), word(int(threadIdx.x) % 2) {
    from = scales + (first + row) * of_row + word * 4;
    is_row = first + row < count;
  }

  // Copies the scales from word `at` on, out of `count` of a row.
  __device__ void copy(uint32_t tile, int at, int count) const {
    const bool is_there = is_row && at + word < count;
    copy_async_word(tile + row * kScalesOfRow + word * 4, is_there ? from + at * 4 : from, is_there);
  }
};

// Adds the products of a step's codes to a warp's sums. A thread's words of scales serve both halves of the
// step, and those of b two fragments: each instruction selects the lanes that have its own.
__device__ inline void multiply_codes(
    const char* stage, int warp_m, int warp_n, float (&sums)[Shape::kPartsM][Shape::kPartsN][4]) {
  const int lane = int(threadIdx.x) % kWarp;
  const uint32_t tile = shared_address(stage);
  const char *const scales_a = stage + 2 * Operand::kBytes, *const scales_b = scales_a + kScaleBytes;
  const auto word_of = [](const char* scales, int row, int half) {
    return *reinterpret_cast<const uint32_t*>(scales + row * kScalesOfRow + half * 4);
  };
  uint32_t of_b[2][Shape::kPartsN / 2][4], words_b[Shape::kPartsN / 2];
#pragma unroll
  for (int j = 0; j < Shape::kPartsN / 2; j++) {
    words_b[j] = word_of(scales_b, warp_n + (j * 2 + lane % 4 / 2) * 8 + lane / 4, lane % 2);
#pragma unroll
    for (int half = 0; half < 2; half++)
      load_right<true>(tile + Operand::kBytes, warp_n + j * 16, half * 16, of_b[half][j]);
  }
#pragma unroll
  for (int i = 0; i < Shape::kPartsM; i++) {
    uint32_t of_a[2][4];
    const int row = warp_m + i * 16;
    const uint32_t word_a = word_of(scales_a, row + lane % 2 * 8 + lane / 4, lane / 2 % 2);
#pragma unroll
    for (int half = 0; half < 2; half++) load_left<true>(tile, row, half * 16, of_a[half]);
    float part[Shape::kPartsN][4] = {};
#pragma unroll
    for (int j = 0; j < Shape::kPartsN / 2; j++) {
      const uint32_t(&first)[4] = of_b[0][j], (&second)[4] = of_b[1][j];
      multiply_add_e2m1<0, 0>(part[j * 2], of_a[0], first[0], first[1], word_a, words_b[j]);
      multiply_add_e2m1<0, 2>(part[j * 2 + 1], of_a[0], first[2], first[3], word_a, words_b[j]);
      multiply_add_e2m1<1, 1>(part[j * 2], of_a[1], second[0], second[1], word_a, words_b[j]);
      multiply_add_e2m1<1, 3>(part[j * 2 + 1], of_a[1], second[2], second[3], word_a, words_b[j]);
    }
#pragma unroll
    for (int j = 0; j < Shape::kPartsN; j++)
#pragma unroll
      for (int c = 0; c < 4; c++) sums[i][j][c] += part[j][c];
  }
}

__device__ inline void multiply_fp4(const MatmulFp4& given) {
  extern __shared__ uint4 shared[];
  const char* const stages = reinterpret_cast<const char*>(shared);
  const Matmul& p = given.of;
  Work<true> w;
  if (!w.find(p, kTile, kTile, kStep)) return;
  Copier<Operand, Operand, kStep> copier(p, w);
  const ScaleTile left(given.scales[0], given.scales_of_row, w.place.row, w.place.rows),
      right(given.scales[1], given.scales_of_row, w.place.column, p.n);
  const int words = int(given.scales_of_row / 4);
  const auto start_copy = [&](int stage) {
    if (copier.step < w.last) {
      const uint32_t tile = shared_address(stages + stage * kStageBytes), scales = tile + 2 * Operand::kBytes;
      const int at = copier.copy(p, w, tile, false);
      if (at >= 0) {
        left.copy(scales, copier.step * 2, words);
        right.copy(scales + kScaleBytes, copier.step * 2, words);
      }
    }
    copier.step++;
    group_copies();
  };
#pragma unroll
  for (int stage = 0; stage < kBuffers - 1; stage++) start_copy(stage);

  const int warp = int(threadIdx.x) / kWarp, warp_m = warp / Shape::kWarpsN * Shape::kWarpM,
            warp_n = warp % Shape::kWarpsN * Shape::kWarpN;
  float sums[Shape::kPartsM][Shape::kPartsN][4] = {};
  for (int step = 0; step < w.last; step++) {
    await_copies<kBuffers - 2>();
    __syncthreads();
    // This overwrites the buffer of the step before, which all warps have read.
    start_copy((step + kBuffers - 1) % kBuffers);
    const char* const stage = stages + step % kBuffers * kStageBytes;
    if (step < w.head) multiply_codes(stage, warp_m, warp_n, sums);
    else multiply_step<kTile, true, true>(shared_address(stage), warp_m, warp_n, sums);
    if (w.ends_head(step)) scale_sums(sums, scale_of(p, w.place.matrix));
  }
#pragma unroll
  for (int i = 0; i < Shape::kPartsM; i++) write_sums(p, w, warp_m + i * 16, warp_n, sums[i]);
}

#else

// Never launched on other architectures.
__device__ inline void multiply_fp4(const MatmulFp4&) { __trap(); }

#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1) fp4_nt_128(const __grid_constant__ MatmulFp4 p) {
  multiply_fp4(p);
}
