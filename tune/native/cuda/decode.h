// Decodes stored weights on their way to shared memory: runs of sixteen neighbours of a row, decoded and
// rounded to bf16. Numbers are bit-identical to those of cpu/decode.h. The scale of a whole weight is left
// out if the product applies it.
//
// A run is fetched during the previous step's multiplication: `Codes` holds it in registers.
#pragma once
#include "codecs.h"
#include "matmul.h"
#include "warp.h"

namespace cairn::cuda {

// Two numbers of 16 bits (f16) as floats, exactly.
__device__ inline float2 floats_of_halves(uint32_t pair) { return {half_low(pair), half_high(pair)}; }

// 8-bit codes: shifts E4M3 fields into f16, which scales numbers by 2^-8.
struct Fp8Run {
  uint4 codes;
  float scale;

  // Numbers 2·i and 2·i + 1, unscaled.
  __device__ float2 pair(int i) const {
    const uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};
    const uint32_t two = words[i / 2] >> (i % 2 * 16) & 0xffff, spread = (two & 0xff) | (two & 0xff00) << 8;
    const float2 v = floats_of_halves((spread & 0x007f007f) << 7 | (spread & 0x00800080) << 8);
    const float nan = float_of(0x7fc00000);
    return {(spread & 0x7f) == 0x7f ? nan : v.x * 256.0f,
        (spread & 0x7f0000) == 0x7f0000 ? nan : v.y * 256.0f};
  }
};

// Pairs of E2M1 codes: shifts fields into f16, which scales numbers by 2^-14.
__device__ inline float2 e2m1_pair(uint2 codes, int i) {
  const uint32_t byte = (i < 4 ? codes.x : codes.y) >> (i % 4 * 8) & 0xff,
                 spread = (byte & 15) | (byte >> 4) << 16;
  const float2 v = floats_of_halves((spread & 0x00070007) << 9 | (spread & 0x00080008) << 12);
  return {v.x * 16384.0f, v.y * 16384.0f};
}

// One f32 scale per tile of 128×128, or for all.
template <bool is_tiled>
struct Fp8Weight {
  using Codes = Fp8Run;
  static constexpr int kTableFloats = 0;
  const uint8_t* codes;
  const float* scales;
  int columns;
  float whole;

  __device__ Fp8Weight(const Matmul& p, int64_t skip, float*)
      : codes(static_cast<const uint8_t*>(p.weight.part[0]) + skip),
        scales(reinterpret_cast<const float*>(static_cast<const char*>(p.weight.part[1]) + skip)),
        columns(int(p.weight.columns)),
        whole(is_tiled || p.tensor_scale ? 1.0f : *scales) {}

  __device__ void fetch(int row, int column, Codes& to) const {
    constexpr int kTile = int(kFp8Tile);
    to.codes = *reinterpret_cast<const uint4*>(codes + int64_t(row) * columns + column);
    to.scale = is_tiled ? scales[row / kTile * ((columns + kTile - 1) / kTile) + column / kTile] : whole;
  }
  __device__ void decode(const Codes& from, uint32_t (&to)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float2 v = from.pair(i);
      to[i] = pack_bf16(v.x * from.scale, v.y * from.scale);
    }
  }
};

struct NibbleRun {
  uint2 codes;
  uint32_t scale;
  float group;
};

struct Nvfp4Weight {
  using Codes = NibbleRun;
  static constexpr int kTableFloats = 0;
  const uint8_t *codes, *scales;
  int64_t columns;
  float whole;

  __device__ Nvfp4Weight(const Matmul& p, int64_t skip, float*)
      : codes(static_cast<const uint8_t*>(p.weight.part[0]) + skip),
        scales(static_cast<const uint8_t*>(p.weight.part[1]) + skip),
        columns(p.weight.columns),
        whole(p.tensor_scale
                  ? 1.0f
                  : *reinterpret_cast<const float*>(static_cast<const char*>(p.weight.part[2]) + skip)) {}

  __device__ void fetch(int row, int column, Codes& to) const {
    const int64_t at = row * columns + column;
    to.codes = *reinterpret_cast<const uint2*>(codes + at / 2);
    to.scale = scales[at / kNvfp4Block];
  }
  __device__ void decode(const Codes& from, uint32_t (&to)[8]) const {
    const float scale = decode_minifloat(kE4m3, int(from.scale));
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float2 v = e2m1_pair(from.codes, i);
      to[i] = pack_bf16(v.x * scale * whole, v.y * scale * whole);
    }
  }
};

struct Mxfp4Weight {
  using Codes = NibbleRun;
  static constexpr int kTableFloats = 0;
  const uint8_t *codes, *scales;
  int64_t columns;

  __device__ Mxfp4Weight(const Matmul& p, int64_t skip, float*)
      : codes(static_cast<const uint8_t*>(p.weight.part[0]) + skip),
        scales(static_cast<const uint8_t*>(p.weight.part[1]) + skip),
        columns(p.weight.columns) {}

  __device__ void fetch(int row, int column, Codes& to) const {
    const int64_t at = row * columns + column;
    to.codes = *reinterpret_cast<const uint2*>(codes + at / 2);
    to.scale = scales[at / kMxfp4Block];
  }
  __device__ void decode(const Codes& from, uint32_t (&to)[8]) const {
    const float scale = decode_e8m0(int(from.scale));
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float2 v = e2m1_pair(from.codes, i);
      to[i] = pack_bf16(v.x * scale, v.y * scale);
    }
  }
};

// Numbers come from a table of sixteen, their scales from the weight's map of 256; both are in shared memory.
struct Nf4Weight {
  using Codes = NibbleRun;
  static constexpr int kTableFloats = 16 + 256;
  const uint8_t *codes, *scales;
  const float *groups, *tables;
  int64_t columns;
  float offset;

  __device__ Nf4Weight(const Matmul& p, int64_t skip, float* space)
      : codes(static_cast<const uint8_t*>(p.weight.part[0]) + skip),
        scales(static_cast<const uint8_t*>(p.weight.part[1]) + skip),
        groups(reinterpret_cast<const float*>(static_cast<const char*>(p.weight.part[2]) + skip)),
        tables(space),
        columns(p.weight.columns),
        offset(*reinterpret_cast<const float*>(static_cast<const char*>(p.weight.part[3]) + skip)) {
    const float* map = reinterpret_cast<const float*>(static_cast<const char*>(p.weight.part[4]) + skip);
    for (int i = int(threadIdx.x); i < kTableFloats; i += int(blockDim.x))
      space[i] = i < 16 ? kNf4Table[i] : map[i - 16];
    __syncthreads();
  }

  __device__ void fetch(int row, int column, Codes& to) const {
    const int64_t at = row * columns + column, block = at / kNf4Block;
    to.codes = *reinterpret_cast<const uint2*>(codes + at / 2);
    to.scale = scales[block];
    to.group = groups[block / kNf4Group];
  }
  __device__ void decode(const Codes& from, uint32_t (&to)[8]) const {
    const float scale = tables[16 + from.scale] * from.group + offset;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const uint32_t byte = (i < 4 ? from.codes.x : from.codes.y) >> (i % 4 * 8) & 0xff;
      to[i] = pack_bf16(tables[byte >> 4] * scale, tables[byte & 15] * scale);
    }
  }
};

}  // namespace cairn::cuda
