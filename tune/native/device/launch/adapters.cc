// row_norms, scale_columns, its gradient, and adapter_columns.
#include "../../cuda/adapters.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256, kPack = 8;

// Blocks of rows, and of columns, which threads take eight at a time if the width allows it.
Grid grid_of(int64_t rows, int64_t columns, int each) {
  const int64_t width = columns % kPack == 0 ? kPack : 1;
  return {blocks_of(rows, each), blocks_of(columns, cuda::kColumnThreads * width)};
}

Dtype dtype_of(const Tensor* t) { return t ? t->dtype : Dtype::f32; }

}  // namespace

void row_norms(DeviceCall& call) {
  const Tensor& weight = *call.in[row_norms_in::weight];
  const Tensor *a = call.in[row_norms_in::a], *b = call.in[row_norms_in::b];
  if (!a != !b) throw std::runtime_error("a and b come together");
  const cuda::RowNorms params{stored_of(weight), data_of<void>(a), data_of<void>(b),
      data_of<float>(call.out[row_norms_out::y]), weight.dims[0], a ? a->dims[0] : 0,
      RowNormsAttrs::read(call.attrs).alpha, dtype_of(a), dtype_of(b)};
  call.launch("adapters", "row_norms", {blocks_of(weight.dims[0], cuda::kNormRows)}, kThreads, params);
}

void scale_columns(DeviceCall& call) {
  const Tensor& x = *call.in[scale_columns_in::x];
  const Tensor *bias = call.in[scale_columns_in::bias], *addend = call.in[scale_columns_in::addend];
  const cuda::ScaleColumns params{x.data, data_of<float>(call.in[scale_columns_in::weight]),
      data_of<float>(call.in[scale_columns_in::norms]), data_of<void>(bias), data_of<void>(addend),
      call.out[scale_columns_out::y]->data, x.dims[0], x.dims[1], x.dtype, dtype_of(bias), dtype_of(addend)};
  call.launch("adapters", "scale_columns", grid_of(x.dims[0], x.dims[1], cuda::kScaledRows),
      cuda::kColumnThreads, params);
}

void scale_columns_weight_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[scale_columns_weight_grad_in::dy],
               &x = *call.in[scale_columns_weight_grad_in::x];
  const int64_t rows = x.dims[0], columns = x.dims[1], spans = blocks_of(rows, cuda::kGradRows);
  const cuda::ScaleColumnsGrad params{dy.data, x.data,
      data_of<float>(call.in[scale_columns_weight_grad_in::norms]), call.scratch<float>(0, spans * columns),
      data_of<float>(call.out[scale_columns_weight_grad_out::dweight]), rows, columns, spans, dy.dtype,
      x.dtype};
  call.launch("adapters", "scale_columns_grad_spans", grid_of(rows, columns, cuda::kGradRows),
      cuda::kColumnThreads, params);
  call.launch("adapters", "scale_columns_weight_grad", {blocks_of(columns, cuda::kColumnThreads)},
      cuda::kColumnThreads, params);
}

void adapter_columns(DeviceCall& call) {
  const Tensor &x = *call.in[adapter_columns_in::x], &factors = *call.in[adapter_columns_in::factors],
               &y = *call.out[adapter_columns_out::y];
  const Tensor *bias = call.in[adapter_columns_in::bias], *addend = call.in[adapter_columns_in::addend];
  const cuda::AdapterColumns params{data_of<float>(x), data_of<float>(call.in[adapter_columns_in::delta]),
      data_of<float>(factors), data_of<int32_t>(call.in[adapter_columns_in::adapters]), data_of<void>(bias),
      data_of<void>(addend), y.data, call.fault_word(), x.dims[0], x.dims[1], factors.dims[0],
      call.fault("a row names an adapter that does not exist"), y.dtype, dtype_of(bias), dtype_of(addend)};
  call.launch("adapters", "adapter_columns", grid_of(x.dims[0], x.dims[1], cuda::kScaledRows),
      cuda::kColumnThreads, params);
}

}  // namespace cairn::device
