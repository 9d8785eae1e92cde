// The optimizer: norm of all gradients, the clip factor, and AdamW in one pass over parameters and their two moments.
#include <cmath>

#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

// Partial sums of fixed spans, added in order in double.
void sum_squares(Call& call) {
  const Tensor& x = *call.in[sum_squares_in::x];
  const int64_t spans = ceil_div(x.count, kElementsPerTask);
  float* partial = static_cast<float*>(shared_room(call.workspace, 0, size_t(spans + 1) * 4));
  parallel_spans(call, x.count, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* values = read_row(x, first, last - first, row_slot(call, thread, 0, kElementsPerTask));
    partial[first / kElementsPerTask] = dot(values, values, last - first);
  });
  double sum = 0;
  for (int64_t i = 0; i < spans; i++) sum += double(partial[i]);
  floats_of(*call.out[sum_squares_out::y])[0] = float(sum);
}

void sum_squares_rooms(const Call& call, Rooms& rooms) {
  rooms.add_shared(0, size_t(ceil_div(call.in[sum_squares_in::x]->count, kElementsPerTask) + 1) * 4);
  add_row_slots(rooms, 1, kElementsPerTask);
}

void clip_factor(Call& call) {
  const double sum = double(floats_of(*call.in[clip_factor_in::sum_squares])[0]), count = double(floats_of(*call.in[clip_factor_in::count])[0]);
  const double limit = double(ClipFactorAttrs::read(call.attrs).max_norm);
  const double norm = ::sqrt(sum) / count;
  const double clip = limit > 0 && norm > limit ? limit / norm : 1.0;
  floats_of(*call.out[clip_factor_out::factor])[0] = float(clip / count);
  floats_of(*call.out[clip_factor_out::norm])[0] = float(norm);
}

void adamw(Call& call) {
  const Tensor& g = *call.in[adamw_in::g];
  float *p = floats_of(*call.out[adamw_out::p_next]), *m = floats_of(*call.out[adamw_out::m_next]), *v = floats_of(*call.out[adamw_out::v_next]);
  const float *p0 = floats_of(*call.in[adamw_in::p]), *m0 = floats_of(*call.in[adamw_in::m]), *v0 = floats_of(*call.in[adamw_in::v]);
  const float factor = floats_of(*call.in[adamw_in::factor])[0];
  const float* schedule = floats_of(*call.in[adamw_in::schedule]);
  const auto a = AdamwAttrs::read(call.attrs);
  const float rate = schedule[0], step = schedule[1];
  const float correct1 = float(1.0 / (1.0 - ::pow(double(a.beta1), double(step)))), correct2 = float(1.0 / (1.0 - ::pow(double(a.beta2), double(step))));
  const float keep = 1.0f - rate * a.weight_decay;
  parallel_spans(call, g.count, kElementsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* grad = read_row(g, first, last - first, row_slot(call, thread, 0, kElementsPerTask)) - first;
    for (int64_t i = first; i < last; i++) {
      const float x = factor * grad[i];
      const float m1 = a.beta1 * m0[i] + (1.0f - a.beta1) * x, v1 = a.beta2 * v0[i] + (1.0f - a.beta2) * x * x;
      m[i] = m1;
      v[i] = v1;
      p[i] = keep * p0[i] - rate * (m1 * correct1) / (__builtin_sqrtf(v1 * correct2) + a.eps);
    }
  });
}

void adamw_rooms(const Call&, Rooms& rooms) { add_row_slots(rooms, 1, kElementsPerTask); }

}  // namespace cairn::CAIRN_ISA
