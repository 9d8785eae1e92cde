// The optimizer: norm of all gradients, the clip factor, and AdamW in one pass over parameters and their two
// moments.
#include <cmath>
#include <stdexcept>

#include "access.h"
#include "dynamic_map.h"
#include "kernels.h"
#include "layout.h"

namespace cairn::CAIRN_ISA {

namespace {

// Partial sums of fixed spans, added in order in double.
float squares_of(Call& call, const Tensor& x, int64_t from, int64_t to, float* partial) {
  parallel_spans(call, to - from, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* values =
        read_row(x, from + first, last - first, row_slot(call, thread, 0, kElementsPerTask));
    partial[first / kElementsPerTask] = dot(values, values, last - first);
  });
  double sum = 0;
  for (int64_t i = 0; i < ceil_div(to - from, kElementsPerTask); i++) sum += double(partial[i]);
  return float(sum);
}

}  // namespace

void sum_squares(Call& call) {
  const Tensor &x = *call.in[sum_squares_in::x], *parts = call.in[sum_squares_in::parts];
  const int64_t spans = ceil_div(x.count, kElementsPerTask);
  float* partial = static_cast<float*>(shared_scratch(call.scratch, 0, size_t(spans + 1) * 4));
  float& y = floats_of(*call.out[sum_squares_out::y])[0];
  if (!parts) {
    y = squares_of(call, x, 0, x.count, partial);
    return;
  }
  float sum = 0;
  int64_t end = 0;
  for (int64_t i = 0; i < parts->dims[0]; i++) {
    const int64_t from = ints_of(*parts)[2 * i], to = ints_of(*parts)[2 * i + 1];
    if (from < end || to < from || to > x.count) throw std::runtime_error("parts must ascend within x");
    sum += squares_of(call, x, from, to, partial);
    end = to;
  }
  y = sum;
}

void sum_squares_scratch(const Call& call, ScratchSizes& sizes) {
  sizes.add_shared(0, size_t(ceil_div(call.in[sum_squares_in::x]->count, kElementsPerTask) + 1) * 4);
  add_row_slots(sizes, 1, kElementsPerTask);
}

void clip_factor(Call& call) {
  const double sum = double(floats_of(*call.in[clip_factor_in::sum_squares])[0]),
               count = double(floats_of(*call.in[clip_factor_in::count])[0]);
  const double limit = double(ClipFactorAttrs::read(call.attrs).max_norm);
  const double norm = ::sqrt(sum) / count;
  const double clip = limit > 0 && norm > limit ? limit / norm : 1.0;
  floats_of(*call.out[clip_factor_out::factor])[0] = float(clip / count);
  floats_of(*call.out[clip_factor_out::norm])[0] = float(norm);
}

namespace {

// One step of every number, in f32.
struct Update {
  float beta1, beta2, eps, keep, rate, factor, correct1, correct2;

  template <class Attrs>
  Update(const Attrs& a, const Tensor& factor, const Tensor& schedule)
      : beta1(a.beta1),
        beta2(a.beta2),
        eps(a.eps),
        keep(1.0f - floats_of(schedule)[0] * a.weight_decay),
        rate(floats_of(schedule)[0]),
        factor(floats_of(factor)[0]),
        correct1(correction(a.beta1, floats_of(schedule)[1])),
        correct2(correction(a.beta2, floats_of(schedule)[1])) {}

  static float correction(float beta, float step) {
    return float(1.0 / (1.0 - ::pow(double(beta), double(step))));
  }

  float operator()(float p, float grad, float& m, float& v) const {
    const float x = factor * grad;
    m = beta1 * m + (1.0f - beta1) * x;
    v = beta2 * v + (1.0f - beta2) * x * x;
    return keep * p - rate * (m * correct1) / (__builtin_sqrtf(v * correct2) + eps);
  }
};

// An 8-bit state: codes, and the largest magnitude of each block.
struct State {
  uint8_t* codes;
  float* scales;
  explicit State(const Tensor& t)
      : codes(reinterpret_cast<uint8_t*>(t.data)),
        scales(reinterpret_cast<float*>(t.data + layout_of(t.dtype, t.count, 1, t.count).offset[1])) {}

  void read(const float* map, int64_t first, int64_t n, float* to) const {
    for (int64_t i = 0; i < n; i++) to[i] = map[codes[first + i]] * scales[first / kDynamicBlock];
  }
  void write(const float* map, int64_t first, int64_t n, const float* from) const {
    const float amax = max_abs(from, n);
    scales[first / kDynamicBlock] = amax;
    for (int64_t i = 0; i < n; i++)
      codes[first + i] = uint8_t(encode_nearest(map, 256, amax == 0 ? 0 : from[i] / amax));
  }
};

}  // namespace

void adamw(Call& call) {
  const Tensor& g = *call.in[adamw_in::g];
  float *p = floats_of(*call.out[adamw_out::p_next]), *m = floats_of(*call.out[adamw_out::m_next]),
        *v = floats_of(*call.out[adamw_out::v_next]);
  const float *p0 = floats_of(*call.in[adamw_in::p]), *m0 = floats_of(*call.in[adamw_in::m]),
              *v0 = floats_of(*call.in[adamw_in::v]);
  const Update update(AdamwAttrs::read(call.attrs), *call.in[adamw_in::factor], *call.in[adamw_in::schedule]);
  parallel_spans(call, g.count, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* grad = read_row(g, first, last - first, row_slot(call, thread, 0, kElementsPerTask)) - first;
    for (int64_t i = first; i < last; i++) {
      float m1 = m0[i], v1 = v0[i];
      p[i] = update(p0[i], grad[i], m1, v1);
      m[i] = m1;
      v[i] = v1;
    }
  });
}

void adamw_scratch(const Call&, ScratchSizes& sizes) { add_row_slots(sizes, 1, kElementsPerTask); }

void adamw_8bit(Call& call) {
  const Tensor& g = *call.in[adamw_8bit_in::g];
  float* p = floats_of(*call.out[adamw_8bit_out::p_next]);
  // In place: inputs and outputs are the same memory.
  const State m(*call.out[adamw_8bit_out::m_next]), v(*call.out[adamw_8bit_out::v_next]);
  const Update update(
      Adamw8bitAttrs::read(call.attrs), *call.in[adamw_8bit_in::factor], *call.in[adamw_8bit_in::schedule]);
  float m_map[256], v_map[256];
  dynamic_map(true, m_map);
  dynamic_map(false, v_map);
  parallel_spans(call, g.count, kDynamicBlock, [&](int64_t first, int64_t last, int) {
    float scratch[kDynamicBlock], m_scratch[kDynamicBlock], v_scratch[kDynamicBlock];
    const float* grad = read_row(g, first, last - first, scratch);
    m.read(m_map, first, last - first, m_scratch);
    v.read(v_map, first, last - first, v_scratch);
    for (int64_t i = 0; i < last - first; i++)
      p[first + i] = update(p[first + i], grad[i], m_scratch[i], v_scratch[i]);
    m.write(m_map, first, last - first, m_scratch);
    v.write(v_map, first, last - first, v_scratch);
  });
}

}  // namespace cairn::CAIRN_ISA
