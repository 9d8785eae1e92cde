// Ops that look at each element once: add, accumulate, scale, cast.
#include "elementwise.h"

#include "floats.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

template <class Combine>
__device__ void map_elements(const Elementwise& p, Combine combine) {
  for (int64_t i = first_of_thread(); i < p.count; i += threads_of_grid())
    store_float(p.y, p.y_dtype, i,
        combine(load_float(p.a, p.a_dtype, i), p.b ? load_float(p.b, p.b_dtype, i) : 0.0f));
}

}  // namespace

extern "C" __global__ void add(const __grid_constant__ Elementwise p) {
  map_elements(p, [](float a, float b) { return a + b; });
}

extern "C" __global__ void scale(const __grid_constant__ Elementwise p) {
  const float factor = *p.factor;
  map_elements(p, [factor](float a, float) { return a * factor; });
}

extern "C" __global__ void cast(const __grid_constant__ Elementwise p) {
  map_elements(p, [](float a, float) { return a; });
}
