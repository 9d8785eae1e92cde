// Gated units, element by element: y = activation(gate) · up.
#include "glu.h"

#include "activations.h"
#include "floats.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

template <class Activation>
__device__ void forward(const Glu& p) {
  const int64_t packs = p.count / kPack;
  for (int64_t i = first_of_thread(); i < packs; i += threads_of_grid()) {
    float g[kPack], u[kPack], y[kPack];
    load_pack(p.gate, p.gate_dtype, i * kPack, g);
    load_pack(p.up, p.up_dtype, i * kPack, u);
    for (int j = 0; j < kPack; j++) y[j] = Activation::value(g[j]) * u[j];
    store_pack(p.y, p.gate_dtype, i * kPack, y);
  }
  for (int64_t i = packs * kPack + first_of_thread(); i < p.count; i += threads_of_grid())
    store_float(p.y, p.gate_dtype, i,
        Activation::value(load_float(p.gate, p.gate_dtype, i)) * load_float(p.up, p.up_dtype, i));
}

template <class Activation>
__device__ void backward(const Glu& p) {
  const int64_t packs = p.count / kPack;
  for (int64_t i = first_of_thread(); i < packs; i += threads_of_grid()) {
    float d[kPack], g[kPack], u[kPack], dg[kPack], du[kPack];
    load_pack(p.dy, p.dy_dtype, i * kPack, d);
    load_pack(p.gate, p.gate_dtype, i * kPack, g);
    load_pack(p.up, p.up_dtype, i * kPack, u);
    for (int j = 0; j < kPack; j++) {
      dg[j] = d[j] * u[j] * Activation::slope(g[j]);
      du[j] = d[j] * Activation::value(g[j]);
    }
    store_pack(p.dgate, p.gate_dtype, i * kPack, dg);
    store_pack(p.dup, p.up_dtype, i * kPack, du);
  }
  for (int64_t i = packs * kPack + first_of_thread(); i < p.count; i += threads_of_grid()) {
    const float d = load_float(p.dy, p.dy_dtype, i), g = load_float(p.gate, p.gate_dtype, i),
                u = load_float(p.up, p.up_dtype, i);
    store_float(p.dgate, p.gate_dtype, i, d * u * Activation::slope(g));
    store_float(p.dup, p.up_dtype, i, d * Activation::value(g));
  }
}

}  // namespace

extern "C" __global__ void swiglu(const __grid_constant__ Glu p) { forward<Silu>(p); }
extern "C" __global__ void swiglu_grad(const __grid_constant__ Glu p) { backward<Silu>(p); }
extern "C" __global__ void geglu(const __grid_constant__ Glu p) { forward<Gelu>(p); }
extern "C" __global__ void geglu_grad(const __grid_constant__ Glu p) { backward<Gelu>(p); }

extern "C" __global__ void clamped_glu(const __grid_constant__ ClampedGlu p) {
  for (int64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
    const float g = fminf(load_float(p.x, p.dtype, 2 * i), p.limit),
                u = fminf(fmaxf(load_float(p.x, p.dtype, 2 * i + 1), -p.limit), p.limit);
    store_float(p.out, p.dtype, i, (1.0f + u) * g * sigmoid(p.alpha * g));
  }
}

// A clamped value has no gradient.
extern "C" __global__ void clamped_glu_grad(const __grid_constant__ ClampedGlu p) {
  for (int64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
    const float gate = load_float(p.x, p.dtype, 2 * i), up = load_float(p.x, p.dtype, 2 * i + 1);
    const float g = fminf(gate, p.limit), u = fminf(fmaxf(up, -p.limit), p.limit);
    const float s = sigmoid(p.alpha * g), d = load_float(p.dy, p.dtype, i);
    const float dg = d * (1.0f + u) * s * (1.0f + p.alpha * g * (1.0f - s)), du = d * g * s;
    store_float(p.out, p.dtype, 2 * i, gate <= p.limit ? dg : 0);
    store_float(p.out, p.dtype, 2 * i + 1, up >= -p.limit && up <= p.limit ? du : 0);
  }
}
