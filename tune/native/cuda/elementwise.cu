// Elementwise ops: add, accumulate, scale, softcap, cast, dropout.
#include "elementwise.h"

#include "draw.h"
#include "floats.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

// y[i] = combine(a[i], b[i]), eight at a time, the rest one by one.
template <class Combine>
__device__ void map_elements(const Elementwise& p, Combine combine) {
  const int64_t packs = p.count / kPack;
  for (int64_t i = first_of_thread(); i < packs; i += threads_of_grid()) {
    float a[kPack], b[kPack] = {}, y[kPack];
    load_pack(p.a, p.a_dtype, i * kPack, a);
    if (p.b) load_pack(p.b, p.b_dtype, i * kPack, b);
    for (int j = 0; j < kPack; j++) y[j] = combine(a[j], b[j]);
    store_pack(p.y, p.y_dtype, i * kPack, y);
  }
  for (int64_t i = packs * kPack + first_of_thread(); i < p.count; i += threads_of_grid())
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

extern "C" __global__ void softcap(const __grid_constant__ Elementwise p) {
  const float cap = p.cap;
  map_elements(p, [cap](float a, float) { return cap * tanhf(a / cap); });
}

extern "C" __global__ void cast(const __grid_constant__ Elementwise p) {
  map_elements(p, [](float a, float) { return a; });
}

extern "C" __global__ void dropout(const __grid_constant__ Dropout p) {
  const float kept = 1 / (1 - p.rate);
  for (int64_t group = first_of_thread(); group * 4 < p.count; group += threads_of_grid()) {
    const Words4 words = draw(p.random, p.stream, group);
    for (int i = 0; i < 4; i++) {
      const int64_t at = group * 4 + i;
      if (at >= p.count) break;
      const float x = load_float(p.x, p.dtype, at);
      store_float(p.y, p.dtype, at, uniform_of(words.word[i]) < p.rate ? 0 : x * kept);
    }
  }
}
