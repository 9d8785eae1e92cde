// Gated units and their gradients.
#include "../../cuda/glu.h"

#include "launchers.h"
#include "units.h"

namespace cairn::device {

namespace {
constexpr int kThreads = 256, kEach = 8;
}

void unit_forward(
    DeviceCall& call, const char* kernel, const Tensor& gate, const Tensor& up, const Tensor& y) {
  const cuda::Glu params{
      nullptr, gate.data, up.data, y.data, nullptr, nullptr, gate.count, Dtype::f32, gate.dtype, up.dtype};
  call.launch("glu", kernel, {blocks_of(gate.count, kThreads * kEach)}, kThreads, params);
}

// A thread reads the pack of dy that it writes over.
void unit_backward(DeviceCall& call, const char* kernel, const Tensor& dy, const Tensor& gate,
    const Tensor& up, const Tensor& dgate, const Tensor& dup) {
  const cuda::Glu params{dy.data, gate.data, up.data, nullptr, dgate.data, dup.data, gate.count, dy.dtype,
      gate.dtype, up.dtype};
  call.launch("glu", kernel, {blocks_of(gate.count, kThreads * kEach)}, kThreads, params);
}

namespace {

void forward(DeviceCall& call, const char* kernel) {
  unit_forward(
      call, kernel, *call.in[swiglu_in::gate], *call.in[swiglu_in::up], *call.out[swiglu_out::y]);
}
void backward(DeviceCall& call, const char* kernel) {
  unit_backward(call, kernel, *call.in[swiglu_grad_in::dy], *call.in[swiglu_grad_in::gate],
      *call.in[swiglu_grad_in::up], *call.out[swiglu_grad_out::dgate], *call.out[swiglu_grad_out::dup]);
}

}  // namespace

void swiglu(DeviceCall& call) { forward(call, "swiglu"); }
void swiglu_grad(DeviceCall& call) { backward(call, "swiglu_grad"); }
void geglu(DeviceCall& call) { forward(call, "geglu"); }
void geglu_grad(DeviceCall& call) { backward(call, "geglu_grad"); }

void clamped_glu(DeviceCall& call) {
  const Tensor &x = *call.in[clamped_glu_in::x], &y = *call.out[clamped_glu_out::y];
  const auto attrs = ClampedGluAttrs::read(call.attrs);
  const cuda::ClampedGlu params{nullptr, x.data, y.data, y.count, attrs.alpha, attrs.limit, x.dtype};
  call.launch("glu", "clamped_glu", {blocks_of(y.count, kThreads)}, kThreads, params);
}

void clamped_glu_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[clamped_glu_grad_in::dy], &x = *call.in[clamped_glu_grad_in::x];
  const auto attrs = ClampedGluGradAttrs::read(call.attrs);
  const cuda::ClampedGlu params{dy.data, x.data, call.out[clamped_glu_grad_out::dx]->data, dy.count,
      attrs.alpha, attrs.limit, x.dtype};
  call.launch("glu", "clamped_glu_grad", {blocks_of(dy.count, kThreads)}, kThreads, params);
}

}  // namespace cairn::device
