// rms_norm and its gradients.
#include "../../cuda/norms.h"

#include "launchers.h"

namespace cairn::device {

namespace {
constexpr int kThreads = 256;
}

void rms_norm(DeviceCall& call) {
  const Tensor &x = *call.in[rms_norm_in::x], &weight = *call.in[rms_norm_in::weight];
  const auto attrs = RmsNormAttrs::read(call.attrs);
  cuda::RmsNorm params{};
  params.x = x.data;
  params.weight = weight.data;
  params.out = call.out[rms_norm_out::y]->data;
  params.rstd = data_of<float>(call.out[rms_norm_out::rstd]);
  params.columns = x.dims[1];
  params.eps = attrs.eps;
  params.offset = attrs.weight_offset;
  params.dtype = x.dtype;
  params.weight_dtype = weight.dtype;
  call.launch("norms", "rms_norm", {x.dims[0]}, kThreads, params);
}

void rms_norm_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[rms_norm_grad_in::dy], &x = *call.in[rms_norm_grad_in::x],
               &weight = *call.in[rms_norm_grad_in::weight];
  cuda::RmsNorm params{};
  params.dy = dy.data;
  params.x = x.data;
  params.weight = weight.data;
  params.addend = data_of<void>(call.in[rms_norm_grad_in::addend]);
  params.out = call.out[rms_norm_grad_out::dx]->data;
  params.rstd = data_of<float>(call.in[rms_norm_grad_in::rstd]);
  params.columns = x.dims[1];
  params.offset = RmsNormGradAttrs::read(call.attrs).weight_offset;
  params.dy_dtype = dy.dtype;
  params.dtype = x.dtype;
  params.weight_dtype = weight.dtype;
  call.launch("norms", "rms_norm_grad", {x.dims[0]}, kThreads, params);
}

void rms_norm_weight_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[rms_norm_weight_grad_in::dy], &x = *call.in[rms_norm_weight_grad_in::x];
  cuda::RmsNorm params{};
  params.dy = dy.data;
  params.x = x.data;
  params.out = call.out[rms_norm_weight_grad_out::dweight]->data;
  params.rstd = data_of<float>(call.in[rms_norm_weight_grad_in::rstd]);
  params.rows = x.dims[0];
  params.columns = x.dims[1];
  params.dy_dtype = dy.dtype;
  params.dtype = x.dtype;
  call.launch("norms", "rms_norm_weight_grad", {blocks_of(x.dims[1], 64)}, 64, params);
}

}  // namespace cairn::device
