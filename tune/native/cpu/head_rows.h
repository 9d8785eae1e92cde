// Rows of logits: shared by head and loss and by the log-probabilities of tokens.
#pragma once
#include <stdexcept>

#include "gemm.h"

namespace cairn::CAIRN_ISA {

namespace {

// The target of a row without one.
constexpr int kIgnored = -100;

inline float float_at(const bf16* z, int64_t i) { return decode_bf16(z[i].bits); }
inline float float_at(const float* z, int64_t i) { return z[i]; }
inline void put_one(bf16* to, float value) { to->bits = encode_bf16(value); }
inline void put_one(float* to, float value) { *to = value; }

template <class T>
inline float row_max(const T* z, int64_t n) {
  float maximum = -__builtin_inff();
  vf lanes = splat(maximum);
  int64_t i = 0;
  for (; i + VL <= n; i += VL) lanes = max(lanes, load(z + i));
  maximum = max_lanes(lanes);
  for (; i < n; i++) {
    const float one = float_at(z, i);
    maximum = one > maximum ? one : maximum;
  }
  return maximum;
}

// Calls body(vector, first, live) over a row, the last vector padded with -inf.
template <class T, class Body>
inline void over_row(T* z, int64_t n, Body body) {
  int64_t i = 0;
  for (; i + VL <= n; i += VL) body(load(z + i), z + i, int(VL));
  if (i < n) {
    T scratch[VL];
    for (int lane = 0; lane < VL; lane++) {
      if (i + lane < n) scratch[lane] = z[i + lane];
      else if constexpr (sizeof(T) == 2) scratch[lane].bits = 0xff80;
      else scratch[lane] = -__builtin_inff();
    }
    body(load(scratch), z + i, int(n - i));
  }
}

// Subnormal probabilities may become zero.
inline void put(bf16* to, vf value) { store_normal(to, value); }
inline void put(float* to, vf value) { store(to, value); }

template <class T>
inline void store_live(T* to, vf value, int live) {
  if (live == VL) return put(to, value);
  T scratch[VL];
  put(scratch, value);
  std::memcpy(to, scratch, size_t(live) * sizeof(T));
}

// Caps a row of logits.
template <class T>
inline void cap_row(T* z, int64_t n, float cap) {
  over_row(z, n, [&](vf v, T* to, int live) { store_live(to, tanh(v * (1.0f / cap)) * cap, live); });
}
// The derivative of a capped logit, 1 without a cap.
template <class V>
inline V slope_of(V capped, float cap) {
  if (cap == 0) return V{} + 1.0f;
  const V ratio = capped * (1.0f / cap);
  return 1.0f - ratio * ratio;
}

inline Dtype logits_dtype(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::bf16 ? Dtype::bf16 : Dtype::f32;
}
inline size_t logits_bytes(int64_t rows, int64_t vocab, Arithmetic arithmetic) {
  return size_t(rows * vocab) * element_size(logits_dtype(arithmetic));
}

// The factor of logits, which is 0 if the op has none.
inline float one_if_absent(float scale) { return scale == 0 ? 1 : scale; }

inline void check_targets(const Tensor& targets, int64_t vocab) {
  const int32_t* target = ints_of(targets);
  for (int64_t t = 0; t < targets.count; t++)
    if (target[t] != kIgnored && (target[t] < 0 || target[t] >= vocab))
      throw std::runtime_error("a target lies outside the vocabulary");
}

}  // namespace

}  // namespace cairn::CAIRN_ISA
