// Parameters of quantize.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// x in the parts of a stored dtype, as in core/layout.h.
struct Quantize {
  const void* x;
  void* part[5];
  // Largest magnitudes of the spans, and of the whole.
  float* partial;
  float* amax;
  // nf4: the scale of each block before it is rounded.
  float* scales;
  int64_t rows, columns, count, spans;
  Dtype dtype;
};

struct QuantizeScales {
  Quantize of;
  // The numbers of nf4's 256 scale codes.
  float map[256];
};

}  // namespace cairn::cuda
