// How kernels read and write their tensors and divide their rows among threads.
#pragma once
#include "call.h"
#include "simd.h"

namespace cairn {
namespace {

inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Calls body(index, thread) for every index below count, on the threads of the call.
template <class Body>
inline void parallel(const Call& call, int64_t count, Body body) {
  run_tasks(
      call.pool, count,
      [](void* context, int64_t index, int thread) { (*static_cast<Body*>(context))(index, thread); }, &body);
}

// Calls body(first, last, thread) for spans of `size` below `count`. Spans do not depend on the number of
// threads, so neither does any result.
template <class Body>
inline void parallel_spans(const Call& call, int64_t count, int64_t size, Body body) {
  parallel(call, ceil_div(count, size),
      [&](int64_t i, int thread) { body(i * size, min64(count, (i + 1) * size), thread); });
}

inline size_t element_size(Dtype dtype) { return dtype == Dtype::bf16 ? 2 : 4; }

// n floats of a float tensor from element `at`: in place for f32, otherwise widened into `scratch`.
inline const float* read_row(const Tensor& t, int64_t at, int64_t n, float* scratch) {
  if (t.dtype == Dtype::f32) return reinterpret_cast<const float*>(t.data) + at;
  const bf16* from = reinterpret_cast<const bf16*>(t.data) + at;
  int64_t i = 0;
  for (; i + VL <= n; i += VL) store(scratch + i, load(from + i));
  for (; i < n; i++) scratch[i] = decode_bf16(from[i].bits);
  return scratch;
}

inline void write_row(const Tensor& t, int64_t at, int64_t n, const float* values) {
  if (t.dtype == Dtype::f32) {
    float* to = reinterpret_cast<float*>(t.data) + at;
    if (to != values) std::memcpy(to, values, size_t(n) * 4);
    return;
  }
  bf16* to = reinterpret_cast<bf16*>(t.data) + at;
  int64_t i = 0;
  for (; i + VL <= n; i += VL) store(to + i, load(values + i));
  for (; i < n; i++) to[i].bits = encode_bf16(values[i]);
}

// Where a kernel may write the row it computes: the tensor itself if it is f32, otherwise `scratch`, to be
// passed to write_row.
inline float* row_scratch(const Tensor& t, int64_t at, float* scratch) {
  return t.dtype == Dtype::f32 ? reinterpret_cast<float*>(t.data) + at : scratch;
}

inline float dot(const float* a, const float* b, int64_t n) {
  vf s0{}, s1{}, s2{}, s3{};
  int64_t i = 0;
  for (; i + 4 * VL <= n; i += 4 * VL) {
    s0 = fma(load(a + i), load(b + i), s0);
    s1 = fma(load(a + i + VL), load(b + i + VL), s1);
    s2 = fma(load(a + i + 2 * VL), load(b + i + 2 * VL), s2);
    s3 = fma(load(a + i + 3 * VL), load(b + i + 3 * VL), s3);
  }
  for (; i + VL <= n; i += VL) s0 = fma(load(a + i), load(b + i), s0);
  float rest = 0;
  for (; i < n; i++) rest += a[i] * b[i];
  return sum_lanes((s0 + s1) + (s2 + s3)) + rest;
}

inline float dot3(const float* a, const float* b, const float* c, int64_t n) {
  vf s0{}, s1{};
  int64_t i = 0;
  for (; i + 2 * VL <= n; i += 2 * VL) {
    s0 = fma(load(a + i) * load(b + i), load(c + i), s0);
    s1 = fma(load(a + i + VL) * load(b + i + VL), load(c + i + VL), s1);
  }
  float rest = 0;
  for (; i < n; i++) rest += a[i] * b[i] * c[i];
  return sum_lanes(s0 + s1) + rest;
}

// Largest magnitude. NaN is ignored.
template <class T>
inline float max_abs(const T* values, int64_t n) {
  vf amax{}, more{};
  int64_t i = 0;
  for (; i + 2 * VL <= n; i += 2 * VL) {
    amax = max((vf)((vu)load(values + i) & 0x7fffffff), amax);
    more = max((vf)((vu)load(values + i + VL) & 0x7fffffff), more);
  }
  float rest = 0;
  for (; i < n; i++) {
    float size;
    if constexpr (sizeof(T) == 2) size = __builtin_fabsf(decode_bf16(values[i].bits));
    else size = __builtin_fabsf(values[i]);
    rest = size > rest ? size : rest;
  }
  const float lanes = max_lanes(max(amax, more));
  return rest > lanes ? rest : lanes;
}

inline float* floats_of(const Tensor& t) { return reinterpret_cast<float*>(t.data); }
inline const int32_t* ints_of(const Tensor& t) { return reinterpret_cast<const int32_t*>(t.data); }

// Slots of thread_scratch for widened rows.
inline float* row_slot(const Call& call, int thread, int slot, int64_t n) {
  return static_cast<float*>(thread_scratch(call.scratch, thread, slot, size_t(n) * 4));
}

inline void add_row_slots(ScratchSizes& sizes, int slots, int64_t n) {
  for (int slot = 0; slot < slots; slot++) sizes.add_own(slot, size_t(n) * 4);
}

// The factors of a norm: offset + weight.
inline const float* read_weight(const Tensor& weight, int64_t n, float offset, float* scratch) {
  const float* w = read_row(weight, 0, n, scratch);
  if (offset == 0) return w;
  for (int64_t i = 0; i < n; i++) scratch[i] = offset + w[i];
  return scratch;
}

constexpr int64_t kRowsPerTask = 16;
constexpr int64_t kElementsPerTask = 16384;

inline float square_root(float x) {
#if defined(__AVX2__)
  return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#else
  return __builtin_sqrtf(x);
#endif
}

}  // namespace
}  // namespace cairn
