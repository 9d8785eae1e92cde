// Completes a product from its sums: alpha, bias, addend, one rounding.
#pragma once
#include "pack_left.h"

namespace cairn {
namespace {

inline float one(const float* p) { return *p; }
inline float one(const bf16* p) { return decode_bf16(p->bits); }
inline void put_one(float* p, float value) { *p = value; }
inline void put_one(bf16* p, float value) { p->bits = encode_bf16(value); }

// Sums of the bf16 dot instruction never contain subnormal numbers: it flushes them to zero.
template <bool pairs>
inline void put_sums(bf16* to, vf value) {
  if constexpr (pairs) store_normal(to, value);
  else store(to, value);
}
template <bool pairs>
inline void put_sums(float* to, vf value) {
  store(to, value);
}

template <bool pairs, class Y, class A>
inline void finish_typed(float alpha, const float* sums, const A* addend, Y* y, int64_t n) {
  int64_t i = 0;
  for (; i + VL <= n; i += VL) {
    const vf sum = load(sums + i) * alpha;
    put_sums<pairs>(y + i, addend ? sum + load(addend + i) : sum);
  }
  for (; i < n; i++) put_one(y + i, addend ? alpha * sums[i] + one(addend + i) : alpha * sums[i]);
}

// scratch = alpha · sums + bias from column `column` on.
inline const float* add_bias(const Gemm& g, int64_t column, int64_t n, const float* sums, float* scratch) {
  float bias_scratch[NR];
  const float* bias = read_row(*g.bias, column, n, bias_scratch);
  for (int64_t i = 0; i < n; i++) scratch[i] = g.alpha * sums[i] + bias[i];
  return scratch;
}

// y[at, at + n) = alpha · sums + bias + addend[at, at + n), within a row of the result. With a bias, at most
// NR numbers.
inline void finish_row(const Gemm& g, bool pairs, int64_t at, int64_t n, const float* sums) {
  float biased[NR];
  const float alpha = g.bias ? 1 : g.alpha;
  if (g.bias) sums = add_bias(g, at % g.n, n, sums, biased);
  const auto to = [&](auto* y) {
    const auto plus = [&](const auto* addend) {
      if (pairs) finish_typed<kHasBf16Dot>(alpha, sums, addend, y + at, n);
      else finish_typed<false>(alpha, sums, addend, y + at, n);
    };
    if (g.addend && g.addend->dtype == Dtype::bf16) plus(reinterpret_cast<const bf16*>(g.addend->data) + at);
    else plus(g.addend ? reinterpret_cast<const float*>(g.addend->data) + at : nullptr);
  };
  if (g.y.dtype == Dtype::bf16) to(reinterpret_cast<bf16*>(g.y.data));
  else to(reinterpret_cast<float*>(g.y.data));
}

}  // namespace
}  // namespace cairn
