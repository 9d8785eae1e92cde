// Converts floats to blocks of a stored dtype. Follows tune/ops/src/codecs/quantize.ts rounding by rounding.
#include "quantize.h"

#include "floats.h"
#include "spans.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr float kE4m3Max = 448, kE2m1Max = 6, kE4m3Min = 0.001953125f;
constexpr int kWarps = 8;

__device__ uint8_t* bytes_of(void* part) { return static_cast<uint8_t*>(part); }
__device__ float* floats_of(void* part) { return static_cast<float*>(part); }

// The largest magnitude of n values from element `at`.
__device__ float max_abs(const Quantize& p, int64_t at, int64_t n) {
  float amax = 0;
  for (int64_t i = 0; i < n; i++) amax = fmaxf(amax, fabsf(load_float(p.x, p.dtype, at + i)));
  return amax;
}

// Two nibbles per byte.
template <bool high_first, class Encode>
__device__ void put_nibbles(const Quantize& p, int64_t at, int64_t n, Encode encode) {
  for (int64_t i = at; i < at + n; i += 2) {
    const int even = encode(load_float(p.x, p.dtype, i)), odd = encode(load_float(p.x, p.dtype, i + 1));
    bytes_of(p.part[0])[i / 2] = uint8_t(high_first ? even << 4 | odd : odd << 4 | even);
  }
}

}  // namespace

extern "C" __global__ void quantize_spans(const __grid_constant__ Quantize p) {
  __shared__ float space[kWarps];
  const float amax = block_max(span_max(p.x, p.dtype, p.count, blockIdx.x), space);
  if (threadIdx.x == 0) p.partial[blockIdx.x] = amax;
}

extern "C" __global__ void quantize_amax(const __grid_constant__ Quantize p) {
  __shared__ float space[kWarps];
  float amax = 0;
  for (int64_t i = threadIdx.x; i < p.spans; i += blockDim.x) amax = fmaxf(amax, p.partial[i]);
  amax = block_max(amax, space);
  if (threadIdx.x == 0) *p.amax = amax;
}

// One thread per word of two numbers. Padding rows of the last group are zero.
extern "C" __global__ void quantize_bf16_vnni(const __grid_constant__ Quantize p) {
  const int64_t words = p.columns / 2, rows = (p.rows + kVnniRows - 1) / kVnniRows * kVnniRows;
  for (int64_t i = first_of_thread(); i < rows * words; i += threads_of_grid()) {
    const int64_t row = i / words, word = i % words;
    uint32_t pair = 0;
    if (row < p.rows) {
      const int64_t at = row * p.columns + 2 * word;
      pair = uint32_t(encode_bf16(load_float(p.x, p.dtype, at))) |
             uint32_t(encode_bf16(load_float(p.x, p.dtype, at + 1))) << 16;
    }
    static_cast<uint32_t*>(p.part[0])[row / kVnniRows * kVnniRows * words + word * kVnniRows +
                                      row % kVnniRows] = pair;
  }
}

// One block per tile.
extern "C" __global__ void quantize_fp8_tiles(const __grid_constant__ Quantize p) {
  __shared__ float space[kWarps];
  const int64_t across = (p.columns + kFp8Tile - 1) / kFp8Tile;
  const int64_t first = blockIdx.x / across * kFp8Tile, from = blockIdx.x % across * kFp8Tile;
  const auto over = [&](auto body) {
    for (int64_t i = threadIdx.x; i < kFp8Tile * kFp8Tile; i += blockDim.x) {
      const int64_t row = first + i / kFp8Tile, column = from + i % kFp8Tile;
      if (row < p.rows && column < p.columns) body(row * p.columns + column);
    }
  };
  float amax = 0;
  over([&](int64_t at) { amax = fmaxf(amax, fabsf(load_float(p.x, p.dtype, at))); });
  amax = block_max(amax, space);
  if (threadIdx.x == 0) floats_of(p.part[1])[blockIdx.x] = amax / kE4m3Max;
  const float inverse = kE4m3Max / (amax > 1e-10f ? amax : 1e-10f);
  over([&](int64_t at) {
    bytes_of(p.part[0])[at] = uint8_t(encode_minifloat(kE4m3, load_float(p.x, p.dtype, at) * inverse));
  });
}

extern "C" __global__ void quantize_fp8_tensor(const __grid_constant__ Quantize p) {
  const float amax = *p.amax, inverse = kE4m3Max / (amax > 1e-10f ? amax : 1e-10f);
  if (first_of_thread() == 0) *floats_of(p.part[1]) = amax / kE4m3Max;
  for (int64_t i = first_of_thread(); i < p.count; i += threads_of_grid())
    bytes_of(p.part[0])[i] = uint8_t(encode_minifloat(kE4m3, load_float(p.x, p.dtype, i) * inverse));
}

// One thread per block of the format.
extern "C" __global__ void quantize_nvfp4(const __grid_constant__ Quantize p) {
  const float amax = *p.amax;
  if (first_of_thread() == 0) *floats_of(p.part[2]) = amax / (kE4m3Max * kE2m1Max);
  const float encode = (kE4m3Max * kE2m1Max) / amax;
  for (int64_t block = first_of_thread(); block < p.count / kNvfp4Block; block += threads_of_grid()) {
    const int64_t at = block * kNvfp4Block;
    if (amax == 0) {
      bytes_of(p.part[1])[block] = 0;
      put_nibbles<false>(p, at, kNvfp4Block, [](float) { return 0; });
      continue;
    }
    const float wanted = max_abs(p, at, kNvfp4Block) / kE2m1Max * encode;
    const int code = encode_minifloat(kE4m3, wanted > kE4m3Min ? wanted : kE4m3Min);
    bytes_of(p.part[1])[block] = uint8_t(code);
    const float factor = encode / decode_minifloat(kE4m3, code);
    put_nibbles<false>(
        p, at, kNvfp4Block, [factor](float v) { return encode_minifloat(kE2m1, v * factor); });
  }
}

extern "C" __global__ void quantize_mxfp4(const __grid_constant__ Quantize p) {
  for (int64_t block = first_of_thread(); block < p.count / kMxfp4Block; block += threads_of_grid()) {
    const int64_t at = block * kMxfp4Block;
    const int code = encode_e8m0(max_abs(p, at, kMxfp4Block) / 4);
    bytes_of(p.part[1])[block] = uint8_t(code);
    const float scale = decode_e8m0(code);
    put_nibbles<false>(
        p, at, kMxfp4Block, [scale](float v) { return encode_minifloat(kE2m1, v / scale); });
  }
}

extern "C" __global__ void quantize_nf4(const __grid_constant__ Quantize p) {
  for (int64_t block = first_of_thread(); block < p.count / kNf4Block; block += threads_of_grid()) {
    const int64_t at = block * kNf4Block;
    const float scale = max_abs(p, at, kNf4Block);
    p.scales[block] = scale;
    put_nibbles<true>(p, at, kNf4Block,
        [scale](float v) { return encode_nearest(kNf4Table, 16, scale == 0 ? 0 : v / scale); });
  }
}

// The mean of all scales: one block loads them and its first thread adds them, in the order of the CPU, so
// that every bit is the same.
extern "C" __global__ void quantize_nf4_offset(const __grid_constant__ Quantize p) {
  constexpr int kChunk = 4096;
  __shared__ float chunk[kChunk];
  const int64_t blocks = p.count / kNf4Block;
  double sum = 0;
  for (int64_t from = 0; from < blocks; from += kChunk) {
    const int n = int(blocks - from < kChunk ? blocks - from : kChunk);
    for (int i = threadIdx.x; i < n; i += blockDim.x) chunk[i] = p.scales[from + i];
    __syncthreads();
    if (threadIdx.x == 0)
      for (int i = 0; i < n; i++) sum += double(chunk[i]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *floats_of(p.part[3]) = float(sum / double(blocks));
}

// One block per group of scales.
extern "C" __global__ void quantize_nf4_scales(const __grid_constant__ QuantizeScales given) {
  __shared__ float numbers[256], space[kWarps];
  const Quantize& p = given.of;
  numbers[threadIdx.x] = given.map[threadIdx.x];
  if (blockIdx.x == 0) floats_of(p.part[4])[threadIdx.x] = given.map[threadIdx.x];
  const int64_t at = int64_t(blockIdx.x) * kNf4Group + threadIdx.x;
  const bool is_there = at < p.count / kNf4Block;
  const float scale = is_there ? p.scales[at] - *floats_of(p.part[3]) : 0;
  const float amax = block_max(fabsf(scale), space);
  if (threadIdx.x == 0) floats_of(p.part[2])[blockIdx.x] = amax;
  if (is_there) bytes_of(p.part[1])[at] = uint8_t(encode_nearest(numbers, 256, amax == 0 ? 0 : scale / amax));
}
