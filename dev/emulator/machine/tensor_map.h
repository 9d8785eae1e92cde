// A TensorMap is what this driver writes into the 128 bytes of a CUtensorMap.
#pragma once
#include "machine.h"

namespace emulator {

constexpr u32 kMaxDimensions = 5;
constexpr u64 kTensorMapMagic = 0x70616d6e72696143;  // "Cairnmap"

struct TensorMap {
  u64 magic = kTensorMapMagic;
  u64 at = 0;      // in global memory
  u64 serial = 0;  // of its allocation, 0 if it had none
  u64 strides[kMaxDimensions - 1] = {};  // bytes, of the dimensions after the first
  u32 last[kMaxDimensions] = {};         // the size of each dimension, less 1
  u16 tile[kMaxDimensions] = {};
  u8 dimensions = 0;
  u8 element_bytes = 0;
  u16 swizzle = 0;  // bytes of its span, 0 for none

  u64 stride(u32 dimension) const { return dimension ? strides[dimension - 1] : element_bytes; }
  u32 tile_bytes() const {
    u32 bytes = element_bytes;
    for (u32 d = 0; d < dimensions; ++d) bytes *= tile[d];
    return bytes;
  }
};
static_assert(sizeof(TensorMap) <= 128);

}  // namespace emulator
