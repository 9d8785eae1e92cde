// embed, columns, gather_rows, dequantize, bias_grad, and gradients of these ops.
#include "../../cuda/rows.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

namespace {

constexpr int kThreads = 256, kColumnThreads = 64;

void check_columns(int64_t from, int64_t count, int64_t columns) {
  if (from < 0 || from + count > columns) throw std::runtime_error("the columns lie outside x");
}

}  // namespace

void embed(DeviceCall& call) {
  const Tensor &table = *call.in[embed_in::table], &ids = *call.in[embed_in::ids],
               &y = *call.out[embed_out::y];
  const cuda::Embed params{stored_of(table), data_of<int32_t>(ids), y.data, call.fault_word(), ids.count,
      table.dims[0], EmbedAttrs::read(call.attrs).scale, call.fault("an id lies outside the table"), y.dtype};
  call.launch("rows", "embed", {ids.count}, kThreads, params);
}

void embed_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[embed_grad_in::dy], &ids = *call.in[embed_grad_in::ids],
               &dtable = *call.out[embed_grad_out::dtable];
  const float scale = EmbedGradAttrs::read(call.attrs).scale;
  call.clear(dtable.data, dtable.count * 4);
  const cuda::EmbedGrad params{dy.data, data_of<int32_t>(ids), data_of<float>(dtable), call.fault_word(),
      ids.count, dtable.dims[1], dtable.dims[0], scale == 0 ? 1 : scale,
      call.fault("an id lies outside the table"), dy.dtype};
  call.launch("rows", "embed_grad", {blocks_of(dtable.dims[1], kColumnThreads)}, kColumnThreads, params);
}

void columns(DeviceCall& call) {
  const Tensor &x = *call.in[columns_in::x], &y = *call.out[columns_out::y];
  const int64_t from = ColumnsAttrs::read(call.attrs).from;
  check_columns(from, y.dims[1], x.dims[1]);
  const cuda::Columns params{x.data, nullptr, y.data, x.dims[0], from, y.dims[1], x.dims[1], x.dtype};
  call.launch("rows", "columns", {blocks_of(y.count, kThreads)}, kThreads, params);
}

void columns_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[columns_grad_in::dy], &dx = *call.out[columns_grad_out::dx];
  const int64_t from = ColumnsGradAttrs::read(call.attrs).from;
  check_columns(from, dy.dims[1], dx.dims[1]);
  const cuda::Columns params{dy.data, data_of<void>(call.in[columns_grad_in::addend]), dx.data, dx.dims[0],
      from, dy.dims[1], dx.dims[1], dx.dtype};
  call.launch("rows", "columns_grad", {blocks_of(dx.count, kThreads)}, kThreads, params);
}

void bias_grad(DeviceCall& call) {
  const Tensor &dy = *call.in[bias_grad_in::dy], &dbias = *call.out[bias_grad_out::dbias];
  const cuda::ColumnSums params{dy.data, data_of<float>(dbias), dy.dims[0], dy.dims[1], dy.dtype};
  call.launch("rows", "column_sums", {blocks_of(dy.dims[1], kColumnThreads)}, kColumnThreads, params);
}

void gather_rows(DeviceCall& call) {
  const Tensor &x = *call.in[gather_rows_in::x], &rows = *call.in[gather_rows_in::rows];
  const cuda::GatherRows params{x.data, data_of<int32_t>(rows), call.out[gather_rows_out::y]->data,
      call.fault_word(), rows.count, x.dims[1], x.dims[0], call.fault("a row lies outside x"), x.dtype};
  call.launch("rows", "gather_rows", {rows.count}, kThreads, params);
}

void dequantize(DeviceCall& call) {
  const Tensor &x = *call.in[dequantize_in::x], &y = *call.out[dequantize_out::y];
  const cuda::Decode params{stored_of(x), y.data, x.dims[0], y.dtype};
  call.launch("rows", "dequantize", {blocks_of(y.count, kThreads)}, kThreads, params);
}

}  // namespace cairn::device
