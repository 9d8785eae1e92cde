// qk_norm_rope and its gradients.
#include "../../cuda/norms.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256, kHeadsPerBlock = 8;
constexpr int64_t kRowsPerSum = 64;

cuda::HeadNorm make(
    DeviceCall& call, const Tensor& x, int32_t heads, const Tensor& positions, const Tensor& cos_sin) {
  cuda::HeadNorm params{};
  params.x = x.data;
  params.positions = data_of<int32_t>(positions);
  params.cos_sin = data_of<float>(cos_sin);
  params.rows = x.dims[0];
  params.limit = cos_sin.dims[0];
  params.heads = heads;
  params.width = int32_t(x.dims[1] / heads);
  params.rotated = int32_t(cos_sin.dims[1]);
  params.dtype = x.dtype;
  if (params.rotated > params.width || params.rotated % 2)
    throw std::runtime_error("a row of cos_sin must be even and no wider than a head");
  params.fault = call.fault_word();
  params.fault_code = call.fault("a position lies beyond the rows of cos_sin");
  return params;
}

Grid grid_of(const cuda::HeadNorm& params) { return {blocks_of(params.rows * params.heads, kHeadsPerBlock)}; }

// Heads of the usual widths without unrotated dimensions have their own kernels.
const char* kernel_for(
    const cuda::HeadNorm& params, const char* any, const char* of_64, const char* of_128) {
  if (params.rotated != params.width || params.interleaved) return any;
  return params.width == 64 ? of_64 : params.width == 128 ? of_128 : any;
}

}  // namespace

void qk_norm_rope(DeviceCall& call) {
  const Tensor* weight = call.in[qk_norm_rope_in::weight];
  const auto attrs = QkNormRopeAttrs::read(call.attrs);
  auto params = make(call, *call.in[qk_norm_rope_in::x], attrs.heads, *call.in[qk_norm_rope_in::positions],
      *call.in[qk_norm_rope_in::cos_sin]);
  params.weight = data_of<void>(weight);
  params.weight_dtype = weight ? weight->dtype : Dtype::f32;
  params.out = call.out[qk_norm_rope_out::y]->data;
  params.rstd = data_of<float>(call.out[qk_norm_rope_out::rstd]);
  params.eps = attrs.eps;
  params.offset = attrs.weight_offset;
  params.interleaved = attrs.interleaved;
  call.launch("heads", kernel_for(params, "qk_norm_rope", "qk_norm_rope_64", "qk_norm_rope_128"),
      grid_of(params), kThreads, params);
}

void qk_norm_rope_grad(DeviceCall& call) {
  const Tensor *weight = call.in[qk_norm_rope_grad_in::weight], &dy = *call.in[qk_norm_rope_grad_in::dy];
  const auto attrs = QkNormRopeGradAttrs::read(call.attrs);
  auto params = make(call, *call.in[qk_norm_rope_grad_in::x], attrs.heads,
      *call.in[qk_norm_rope_grad_in::positions], *call.in[qk_norm_rope_grad_in::cos_sin]);
  params.dy = dy.data;
  params.dy_dtype = dy.dtype;
  params.weight = data_of<void>(weight);
  params.weight_dtype = weight ? weight->dtype : Dtype::f32;
  params.out = call.out[qk_norm_rope_grad_out::dx]->data;
  params.rstd = data_of<float>(call.in[qk_norm_rope_grad_in::rstd]);
  params.offset = attrs.weight_offset;
  params.interleaved = attrs.interleaved;
  call.launch("heads",
      kernel_for(params, "qk_norm_rope_grad", "qk_norm_rope_grad_64", "qk_norm_rope_grad_128"),
      grid_of(params), kThreads, params);
}

void qk_norm_rope_weight_grad(DeviceCall& call) {
  const Tensor& dy = *call.in[qk_norm_rope_weight_grad_in::dy];
  const auto attrs = QkNormRopeWeightGradAttrs::read(call.attrs);
  auto params = make(call, *call.in[qk_norm_rope_weight_grad_in::x], attrs.heads,
      *call.in[qk_norm_rope_weight_grad_in::positions], *call.in[qk_norm_rope_weight_grad_in::cos_sin]);
  params.interleaved = attrs.interleaved;
  const int64_t spans = blocks_of(params.rows, kRowsPerSum);
  params.dy = dy.data;
  params.dy_dtype = dy.dtype;
  params.out = call.out[qk_norm_rope_weight_grad_out::dweight]->data;
  params.rstd = data_of<float>(call.in[qk_norm_rope_weight_grad_in::rstd]);
  params.partial = call.scratch<float>(0, spans * params.width);
  call.launch("heads", "qk_norm_rope_weight_grad", {spans}, kThreads, params);
  call.launch("heads", "qk_norm_rope_weight_sum", {1}, kThreads, params);
}

}  // namespace cairn::device
