// The largest magnitude of a tensor, and its history for delayed scaling.
#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

void amax(Call& call) {
  const Tensor& x = *call.in[amax_in::x];
  const int64_t spans = ceil_div(x.count, kElementsPerTask);
  float* partial = static_cast<float*>(shared_scratch(call.scratch, 0, size_t(spans + 1) * 4));
  parallel_spans(call, x.count, kElementsPerTask, [&](int64_t first, int64_t last, int) {
    partial[first / kElementsPerTask] =
        x.dtype == Dtype::bf16 ? max_abs(reinterpret_cast<const bf16*>(x.data) + first, last - first)
                               : max_abs(floats_of(x) + first, last - first);
  });
  floats_of(*call.out[amax_out::y])[0] = max_abs(partial, spans);
}

void amax_scratch(const Call& call, ScratchSizes& sizes) {
  sizes.add_shared(0, size_t(ceil_div(call.in[amax_in::x]->count, kElementsPerTask) + 1) * 4);
}

void delayed_amax(Call& call) {
  const Tensor& history = *call.in[delayed_amax_in::history];
  const float past = max_abs(floats_of(history) + 1, history.count - 1);
  floats_of(*call.out[delayed_amax_out::y])[0] =
      past > 0 ? past : floats_of(*call.in[delayed_amax_in::amax])[0];
}

void observe_amax(Call& call) {
  float* history = floats_of(*call.out[observe_amax_out::y]);
  const float seen = floats_of(*call.in[observe_amax_in::amax])[0];
  history[0] = seen > history[0] ? seen : history[0];
}

void roll_amax(Call& call) {
  const Tensor& y = *call.out[roll_amax_out::y];
  float* history = floats_of(y);
  const float newest = history[0] < __builtin_inff() ? history[0] : 0;
  for (int64_t i = y.count - 1; i > 0; i--) history[i] = i == 1 ? newest : history[i - 1];
  history[0] = 0;
}

}  // namespace cairn::CAIRN_ISA
