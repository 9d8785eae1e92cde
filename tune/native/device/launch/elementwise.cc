// add, accumulate, scale, cast.
#include "../../cuda/elementwise.h"

#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256;

void launch(DeviceCall& call, const char* kernel, const Tensor& a, const Tensor* b, const float* factor) {
  const Tensor& y = *call.out[0];
  const cuda::Elementwise params{a.data, data_of<void>(b), y.data, factor, a.count, a.dtype,
      b ? b->dtype : a.dtype, y.dtype};
  call.launch("elementwise", kernel, {blocks_of(a.count, kThreads)}, kThreads, params);
}

}  // namespace

void add(DeviceCall& call) { launch(call, "add", *call.in[add_in::a], call.in[add_in::b], nullptr); }
void accumulate(DeviceCall& call) {
  launch(call, "add", *call.in[accumulate_in::total], call.in[accumulate_in::x], nullptr);
}
void scale(DeviceCall& call) {
  launch(call, "scale", *call.in[scale_in::x], nullptr, data_of<float>(call.in[scale_in::factor]));
}
void cast(DeviceCall& call) { launch(call, "cast", *call.in[cast_in::x], nullptr, nullptr); }

}  // namespace cairn::device
