// Gated units, element by element: y = activation(gate) · up.
#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

inline vf sigmoid(vf x) { return 1.0f / (1.0f + exp(-x)); }
// Elements that are widened at a time.
constexpr int64_t kStrip = 512;

struct Silu {
  static vf value(vf g) { return g * sigmoid(g); }
  static vf slope(vf g) {
    const vf s = sigmoid(g);
    return s * (1.0f + g * (1.0f - s));
  }
};

// gelu by tanh: g · (1 + tanh(a)) / 2 is g · σ(2a).
struct Gelu {
  static constexpr float kTwice = 1.5957691216057308f, kCube = 0.044715f;  // 2·√(2/π)
  static vf value(vf g) { return g * sigmoid(kTwice * (g + kCube * g * g * g)); }
  static vf slope(vf g) {
    const vf s = sigmoid(kTwice * (g + kCube * g * g * g));
    return s + g * s * (1.0f - s) * kTwice * (1.0f + 3.0f * kCube * g * g);
  }
};

template <class Activation>
void glu(Call& call, const Tensor& gate, const Tensor& up, const Tensor& y) {
  parallel_spans(call, gate.count, kElementsPerTask, [&](int64_t first, int64_t last, int) {
    alignas(64) float g_scratch[kStrip], u_scratch[kStrip], y_scratch[kStrip];
    for (int64_t at = first; at < last; at += kStrip) {
      const int64_t n = min64(kStrip, last - at);
      const float *g = read_row(gate, at, n, g_scratch), *u = read_row(up, at, n, u_scratch);
      int64_t i = 0;
      for (; i + VL <= n; i += VL) store(y_scratch + i, Activation::value(load(g + i)) * load(u + i));
      for (; i < n; i++) y_scratch[i] = Activation::value(splat(g[i]))[0] * u[i];
      write_row(y, at, n, y_scratch);
    }
  });
}

template <class Activation>
void glu_grad(Call& call, const Tensor& dy, const Tensor& gate, const Tensor& up, const Tensor& dgate,
    const Tensor& dup) {
  parallel_spans(call, gate.count, kElementsPerTask, [&](int64_t first, int64_t last, int) {
    alignas(64) float g_scratch[kStrip] = {}, u_scratch[kStrip] = {}, dy_scratch[kStrip] = {},
                      dg_scratch[kStrip], du_scratch[kStrip];
    for (int64_t at = first; at < last; at += kStrip) {
      const int64_t n = min64(kStrip, last - at);
      const float *g = read_row(gate, at, n, g_scratch), *u = read_row(up, at, n, u_scratch),
                  *d = read_row(dy, at, n, dy_scratch);
      int64_t i = 0;
      for (; i + VL <= n; i += VL) {
        store(dg_scratch + i, load(d + i) * load(u + i) * Activation::slope(load(g + i)));
        store(du_scratch + i, load(d + i) * Activation::value(load(g + i)));
      }
      for (; i < n; i++) {
        dg_scratch[i] = d[i] * u[i] * Activation::slope(splat(g[i]))[0];
        du_scratch[i] = d[i] * Activation::value(splat(g[i]))[0];
      }
      write_row(dgate, at, n, dg_scratch);
      write_row(dup, at, n, du_scratch);
    }
  });
}

// Pairs of clamped_glu that are processed at a time, with gates side by side and ups side by side.
struct Pairs {
  alignas(64) float gate[kStrip] = {}, up[kStrip] = {};
  void read(const Tensor& x, int64_t at, int64_t n) {
    alignas(64) float scratch[2 * kStrip];
    const float* in = read_row(x, 2 * at, 2 * n, scratch);
    for (int64_t i = 0; i < n; i++) gate[i] = in[2 * i], up[i] = in[2 * i + 1];
  }
};

inline vf clamp(vf x, float low, float high) { return min(max(x, splat(low)), splat(high)); }

}  // namespace

void swiglu(Call& call) {
  glu<Silu>(call, *call.in[swiglu_in::gate], *call.in[swiglu_in::up], *call.out[swiglu_out::y]);
}
void geglu(Call& call) {
  glu<Gelu>(call, *call.in[geglu_in::gate], *call.in[geglu_in::up], *call.out[geglu_out::y]);
}

void swiglu_grad(Call& call) {
  glu_grad<Silu>(call, *call.in[swiglu_grad_in::dy], *call.in[swiglu_grad_in::gate],
      *call.in[swiglu_grad_in::up], *call.out[swiglu_grad_out::dgate], *call.out[swiglu_grad_out::dup]);
}
void geglu_grad(Call& call) {
  glu_grad<Gelu>(call, *call.in[geglu_grad_in::dy], *call.in[geglu_grad_in::gate],
      *call.in[geglu_grad_in::up], *call.out[geglu_grad_out::dgate], *call.out[geglu_grad_out::dup]);
}

void clamped_glu(Call& call) {
  const Tensor &x = *call.in[clamped_glu_in::x], &y = *call.out[clamped_glu_out::y];
  const auto attrs = ClampedGluAttrs::read(call.attrs);
  parallel_spans(call, y.count, kElementsPerTask, [&](int64_t first, int64_t last, int) {
    Pairs pairs;
    alignas(64) float out[kStrip];
    for (int64_t at = first; at < last; at += kStrip) {
      const int64_t n = min64(kStrip, last - at);
      pairs.read(x, at, n);
      for (int64_t i = 0; i < n; i += VL) {
        const vf g = min(load(pairs.gate + i), splat(attrs.limit)),
                 u = clamp(load(pairs.up + i), -attrs.limit, attrs.limit);
        store(out + i, (1.0f + u) * g * sigmoid(attrs.alpha * g));
      }
      write_row(y, at, n, out);
    }
  });
}

void clamped_glu_grad(Call& call) {
  const Tensor &dy = *call.in[clamped_glu_grad_in::dy], &x = *call.in[clamped_glu_grad_in::x],
               &dx = *call.out[clamped_glu_grad_out::dx];
  const auto attrs = ClampedGluGradAttrs::read(call.attrs);
  parallel_spans(call, dy.count, kElementsPerTask, [&](int64_t first, int64_t last, int) {
    Pairs pairs;
    alignas(64) float d_scratch[kStrip] = {}, dg[kStrip], du[kStrip], out[2 * kStrip];
    for (int64_t at = first; at < last; at += kStrip) {
      const int64_t n = min64(kStrip, last - at);
      pairs.read(x, at, n);
      const float* d = read_row(dy, at, n, d_scratch);
      if (d != d_scratch) std::memcpy(d_scratch, d, size_t(n) * 4);
      for (int64_t i = 0; i < n; i += VL) {
        const vf g = min(load(pairs.gate + i), splat(attrs.limit)),
                 u = clamp(load(pairs.up + i), -attrs.limit, attrs.limit);
        const vf s = sigmoid(attrs.alpha * g), grad = load(d_scratch + i);
        store(dg + i, grad * (1.0f + u) * s * (1.0f + attrs.alpha * g * (1.0f - s)));
        store(du + i, grad * g * s);
      }
      // A clamped value has no gradient.
      for (int64_t i = 0; i < n; i++) {
        const float up = pairs.up[i];
        out[2 * i] = pairs.gate[i] <= attrs.limit ? dg[i] : 0;
        out[2 * i + 1] = up >= -attrs.limit && up <= attrs.limit ? du[i] : 0;
      }
      write_row(dx, 2 * at, 2 * n, out);
    }
  });
}

}  // namespace cairn::CAIRN_ISA
