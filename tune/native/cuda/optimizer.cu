// The optimizer: the clip factor, and AdamW in one pass over parameters and their two moments.
#include "optimizer.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

// One step of every number, in f32. One thread per block computes the common factors.
struct Update {
  float beta1, beta2, eps, keep, rate, factor, correct1, correct2;

  template <class Params>
  __device__ void set(const Params& p) {
    beta1 = p.beta1;
    beta2 = p.beta2;
    eps = p.eps;
    keep = 1.0f - p.schedule[0] * p.weight_decay;
    rate = p.schedule[0];
    factor = *p.factor;
    correct1 = correction(p.beta1, p.schedule[1]);
    correct2 = correction(p.beta2, p.schedule[1]);
  }

  static __device__ float correction(float beta, float step) {
    return float(1.0 / (1.0 - pow(double(beta), double(step))));
  }

  __device__ float operator()(float p, float grad, float& m, float& v) const {
    const float x = factor * grad;
    m = beta1 * m + (1.0f - beta1) * x;
    v = beta2 * v + (1.0f - beta2) * x * x;
    return keep * p - rate * (m * correct1) / (sqrtf(v * correct2) + eps);
  }
};

constexpr int kWarps = 8;

}  // namespace

extern "C" __global__ void clip_factor(const __grid_constant__ ClipFactor p) {
  const double sum = double(*p.sum_squares), count = double(*p.count), limit = double(p.max_norm);
  const double norm = sqrt(sum) / count;
  const double clip = limit > 0 && norm > limit ? limit / norm : 1.0;
  *p.factor = float(clip / count);
  *p.norm = float(norm);
}

extern "C" __global__ void adamw(const __grid_constant__ Adamw p) {
  __shared__ Update update;
  if (threadIdx.x == 0) update.set(p);
  __syncthreads();
  for (int64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
    float m = p.m[i], v = p.v[i];
    p.p_next[i] = update(p.p[i], load_float(p.g, p.g_dtype, i), m, v);
    p.m_next[i] = m;
    p.v_next[i] = v;
  }
}

// One block per block of the states, one thread per number.
extern "C" __global__ void adamw_8bit(const __grid_constant__ Adamw8 p) {
  __shared__ Update update;
  __shared__ float m_map[256], v_map[256], space[kWarps];
  m_map[threadIdx.x] = p.m_map[threadIdx.x];
  v_map[threadIdx.x] = p.v_map[threadIdx.x];
  if (threadIdx.x == 0) update.set(p);
  __syncthreads();
  const int64_t block = blockIdx.x, at = block * kDynamicBlock + threadIdx.x;
  const bool is_there = at < p.count;
  float m = 0, v = 0;
  if (is_there) {
    m = m_map[p.m[at]] * p.m_scales[block];
    v = v_map[p.v[at]] * p.v_scales[block];
    p.p[at] = update(p.p[at], load_float(p.g, p.g_dtype, at), m, v);
  }
  // block_max contains barriers, so all threads have read the scale before one writes it.
  const float m_amax = block_max(fabsf(m), space), v_amax = block_max(fabsf(v), space);
  if (threadIdx.x == 0) {
    p.m_scales[block] = m_amax;
    p.v_scales[block] = v_amax;
  }
  if (!is_there) return;
  p.m[at] = uint8_t(encode_nearest(m_map, 256, m_amax == 0 ? 0 : m / m_amax));
  p.v[at] = uint8_t(encode_nearest(v_map, 256, v_amax == 0 ? 0 : v / v_amax));
}
