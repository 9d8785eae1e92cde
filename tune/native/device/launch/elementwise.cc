// add, accumulate, scale, softcap, cast, dropout.
#include "../../cuda/elementwise.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256, kEach = 8;

Grid grid_of(int64_t count) { return {blocks_of(count, kThreads * kEach)}; }

void launch(DeviceCall& call, const char* kernel, const Tensor& a, const Tensor* b,
    const float* factor = nullptr, float cap = 0) {
  const Tensor& y = *call.out[0];
  const cuda::Elementwise params{
      a.data, data_of<void>(b), y.data, factor, a.count, cap, a.dtype, b ? b->dtype : a.dtype, y.dtype};
  call.launch("elementwise", kernel, grid_of(a.count), kThreads, params);
}

}  // namespace

void add(DeviceCall& call) { launch(call, "add", *call.in[add_in::a], call.in[add_in::b]); }
void accumulate(DeviceCall& call) {
  launch(call, "add", *call.in[accumulate_in::total], call.in[accumulate_in::x]);
}
void scale(DeviceCall& call) {
  launch(call, "scale", *call.in[scale_in::x], nullptr, data_of<float>(call.in[scale_in::factor]));
}
void softcap(DeviceCall& call) {
  launch(call, "softcap", *call.in[softcap_in::x], nullptr, nullptr, SoftcapAttrs::read(call.attrs).cap);
}
void cast(DeviceCall& call) { launch(call, "cast", *call.in[cast_in::x], nullptr); }

void dropout(DeviceCall& call) {
  const Tensor &x = *call.in[dropout_in::x], &y = *call.out[dropout_out::y];
  const auto attrs = DropoutAttrs::read(call.attrs);
  if (!(attrs.rate >= 0 && attrs.rate < 1)) throw std::runtime_error("a rate must be in [0, 1)");
  const cuda::Dropout params{x.data, y.data, data_of<int32_t>(call.in[dropout_in::random]), x.count,
      uint32_t(attrs.stream), attrs.rate, x.dtype};
  call.launch("elementwise", "dropout", {blocks_of(x.count, kThreads * 4)}, kThreads, params);
}

}  // namespace cairn::device
