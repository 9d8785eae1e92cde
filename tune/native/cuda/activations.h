// Activations of gated units and their derivatives.
#pragma once

namespace cairn::cuda {

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

struct Silu {
  static __device__ float value(float g) { return g * sigmoid(g); }
  static __device__ float slope(float g) {
    const float s = sigmoid(g);
    return s * (1.0f + g * (1.0f - s));
  }
};

// gelu by tanh: g · (1 + tanh(a)) / 2 is g · σ(2a).
struct Gelu {
  static constexpr float kTwice = 1.5957691216057308f, kCube = 0.044715f;  // 2·√(2/π)
  static __device__ float value(float g) { return g * sigmoid(kTwice * (g + kCube * g * g * g)); }
  static __device__ float slope(float g) {
    const float s = sigmoid(kTwice * (g + kCube * g * g * g));
    return s + g * s * (1.0f - s) * kTwice * (1.0f + 3.0f * kCube * g * g);
  }
};

}  // namespace cairn::cuda
