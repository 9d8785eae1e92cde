// Random numbers of elements, the same as on the CPU: keyed by a seed, a step, a stream in the program, and
// the element.
#pragma once
#include <cstdint>

#include "philox.h"

namespace cairn::cuda {

// Four words for the elements from 4 · group on. `random` is a seed of two words and a step.
__device__ inline Words4 draw(const int32_t* random, uint32_t stream, int64_t group) {
  return philox({{uint32_t(group), uint32_t(uint64_t(group) >> 32), stream, uint32_t(random[2])}},
      uint32_t(random[0]), uint32_t(random[1]));
}

// In [0, 1).
__device__ inline float uniform_of(uint32_t word) { return float(word >> 8) * 0x1p-24f; }

}  // namespace cairn::cuda
