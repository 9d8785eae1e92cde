// Locations of a stored tensor's parts in its buffer, as in tune/ops/src/dtypes.ts.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn {
namespace {

inline int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }
inline int64_t align_up(int64_t value, int64_t to) { return divide_up(value, to) * to; }

struct Layout {
  // codes, scales and, for some dtypes, tensor scale (nvfp4) or group scales, offset and map (nf4).
  int64_t offset[5];
  int64_t bytes;
};

inline Layout layout_of(Dtype dtype, int64_t count, int64_t rows, int64_t columns) {
  int64_t sizes[5] = {0, 0, 0, 0, 0};
  switch (dtype) {
    case Dtype::f32:
    case Dtype::i32:
      sizes[0] = count * 4;
      break;
    case Dtype::bf16:
      sizes[0] = count * 2;
      break;
    case Dtype::bf16_vnni:
      sizes[0] = align_up(rows, kVnniRows) * columns * 2;
      break;
    case Dtype::fp8_tiles:
      sizes[0] = count;
      sizes[1] = divide_up(rows, kFp8Tile) * divide_up(columns, kFp8Tile) * 4;
      break;
    case Dtype::fp8_tensor:
      sizes[0] = count;
      sizes[1] = 4;
      break;
    case Dtype::dynamic8:
    case Dtype::dynamic8_unsigned:
      sizes[0] = count;
      sizes[1] = divide_up(count, kDynamicBlock) * 4;
      break;
    case Dtype::nvfp4:
      sizes[0] = count / 2;
      sizes[1] = count / kNvfp4Block;
      sizes[2] = 4;
      break;
    case Dtype::mxfp4:
      sizes[0] = count / 2;
      sizes[1] = count / kMxfp4Block;
      break;
    case Dtype::nf4:
      sizes[0] = count / 2;
      sizes[1] = count / kNf4Block;
      sizes[2] = divide_up(count / kNf4Block, kNf4Group) * 4;
      sizes[3] = 4;
      sizes[4] = 256 * 4;
      break;
  }
  Layout layout{};
  int64_t at = 0;
  for (int i = 0; i < 5; i++) {
    layout.offset[i] = at;
    if (sizes[i] > 0) layout.bytes = at + sizes[i];
    at = align_up(at + sizes[i], kPartAlignment);
  }
  return layout;
}

// Whether a tensor of three dimensions is a sequence of matrices, each with its own parts.
inline bool is_stack(Dtype dtype, int rank) {
  return rank == 3 && dtype != Dtype::f32 && dtype != Dtype::bf16 && dtype != Dtype::i32 &&
         dtype != Dtype::dynamic8 && dtype != Dtype::dynamic8_unsigned;
}

// Bytes from one matrix of a stack to the next.
inline int64_t matrix_stride(Dtype dtype, int64_t rows, int64_t columns) {
  const int64_t bytes = layout_of(dtype, rows * columns, rows, columns).bytes;
  return is_stack(dtype, 3) ? align_up(bytes, kPartAlignment) : bytes;
}

}  // namespace
}  // namespace cairn
