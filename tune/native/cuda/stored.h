// Stored weights on a card: the locations of their parts, and single decoded numbers. Products have their own
// code that decodes more at once.
#pragma once
#include <cstdint>

#include "codecs.h"
#include "ops.h"

namespace cairn::cuda {

// A stored matrix: row-major with `columns` per row, parts as in core/layout.h.
struct Stored {
  Dtype dtype;
  int32_t padding;
  int64_t columns;
  const void* part[5];
};

#if defined(__CUDACC__)

__device__ inline int nibble_of(const void* codes, int64_t at, bool high_first) {
  const int byte = static_cast<const uint8_t*>(codes)[at / 2];
  return ((at & 1) != 0) == high_first ? byte & 15 : byte >> 4;
}

__device__ inline float float_at(const void* part, int64_t at) { return static_cast<const float*>(part)[at]; }
__device__ inline int byte_at(const void* part, int64_t at) { return static_cast<const uint8_t*>(part)[at]; }

// Element `column` of row `row`, with every scale, rounded as the CPU's decode_floats rounds.
__device__ inline float decode_at(const Stored& s, int64_t row, int64_t column) {
  const int64_t at = row * s.columns + column;
  switch (s.dtype) {
    case Dtype::f32: return float_at(s.part[0], at);
    case Dtype::bf16: return decode_bf16(static_cast<const uint16_t*>(s.part[0])[at]);
    case Dtype::bf16_vnni: {
      const uint32_t* words = static_cast<const uint32_t*>(s.part[0]) +
                              row / kVnniRows * kVnniRows * (s.columns / 2) + row % kVnniRows;
      const uint32_t word = words[column / 2 * kVnniRows];
      return float_of(column % 2 ? word & 0xffff0000 : word << 16);
    }
    case Dtype::fp8_tiles:
      return decode_minifloat(kE4m3, byte_at(s.part[0], at)) *
             float_at(s.part[1],
                 row / kFp8Tile * ((s.columns + kFp8Tile - 1) / kFp8Tile) + column / kFp8Tile);
    case Dtype::fp8_tensor:
      return decode_minifloat(kE4m3, byte_at(s.part[0], at)) * float_at(s.part[1], 0);
    case Dtype::nvfp4:
      return kE2m1Table[nibble_of(s.part[0], at, false)] *
             decode_minifloat(kE4m3, byte_at(s.part[1], at / kNvfp4Block)) * float_at(s.part[2], 0);
    case Dtype::mxfp4:
      return kE2m1Table[nibble_of(s.part[0], at, false)] * decode_e8m0(byte_at(s.part[1], at / kMxfp4Block));
    case Dtype::nf4: {
      const int64_t block = at / kNf4Block;
      const float scale = float_at(s.part[4], byte_at(s.part[1], block)) *
                              float_at(s.part[2], block / kNf4Group) +
                          float_at(s.part[3], 0);
      return kNf4Table[nibble_of(s.part[0], at, true)] * scale;
    }
    case Dtype::i32:
    case Dtype::dynamic8:
    case Dtype::dynamic8_unsigned:
      break;
  }
  return 0;
}

#endif

}  // namespace cairn::cuda
