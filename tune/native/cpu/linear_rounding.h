// How a linear rounds its left operand in fp8_hybrid and nvfp4, and the factor of its sums that compensates
// for it.
#pragma once
#include "gemm.h"

namespace cairn {
namespace {

// Rounding of a in fp8_hybrid and nvfp4: fp8_hybrid rounds an activation to E4M3 and a gradient to E5M2;
// nvfp4 rounds both to blocks of E2M1.
inline Rounding rounding_of(Arithmetic arithmetic, bool is_gradient, const Tensor* a_amax) {
  Rounding r;
  // Sizes are computed before there is data.
  const float amax = a_amax && a_amax->data ? floats_of(*a_amax)[0] : 0;
  const float max_value = arithmetic == Arithmetic::nvfp4 ? 448.0f * 6.0f
                          : is_gradient                   ? 57344.0f
                                                          : 448.0f,
              min_amax = arithmetic == Arithmetic::nvfp4 ? 1e-30f : 1e-10f;
  r.format = arithmetic == Arithmetic::nvfp4 ? Rounding::nvfp4
             : is_gradient                   ? Rounding::e5m2
                                             : Rounding::e4m3;
  r.encode = max_value / (amax > min_amax ? amax : min_amax);
  r.decode =
      arithmetic == Arithmetic::nvfp4 ? (amax > min_amax ? amax : min_amax) / max_value : 1.0f / r.encode;
  return r;
}

// Sums of the first pair lack the scales of both sides until `scale` restores them.
inline void scale_first(Gemm& g, Rounding rounding) {
  Stored &a = g.pair[0].a.stored, &b = g.pair[0].b.stored;
  a.rounding = rounding;
  b.without_tensor_scale = true;
  g.is_scaled = true;
  g.scale = rounding.decode * (b.part[0] ? tensor_scale_of(b) : 1.0f);
}

inline bool is_scaled(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fp8_hybrid || arithmetic == Arithmetic::nvfp4;
}

// The rounding of a gradient. In nvfp4 it is stochastic if there are random numbers.
inline Rounding gradient_rounding(
    Arithmetic arithmetic, const Tensor* a_amax, const Tensor* random, int32_t stream) {
  Rounding r = rounding_of(arithmetic, true, a_amax);
  if (r.format != Rounding::nvfp4 || !random) return r;
  r.format = Rounding::nvfp4_stochastic;
  r.stream = uint32_t(stream);
  if (random->data)
    r.seed[0] = uint32_t(ints_of(*random)[0]), r.seed[1] = uint32_t(ints_of(*random)[1]),
    r.step = uint32_t(ints_of(*random)[2]);
  return r;
}

}  // namespace
}  // namespace cairn
