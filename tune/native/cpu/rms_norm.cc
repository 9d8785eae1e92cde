// y = x · rstd · weight. Each row is read once and written once; the gradient reads x and dy once more.
#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

void rms_norm(Call& call) {
  const Tensor &x = *call.in[rms_norm_in::x], &weight = *call.in[rms_norm_in::weight],
               &y = *call.out[rms_norm_out::y];
  float* rstd = floats_of(*call.out[rms_norm_out::rstd]);
  const auto attrs = RmsNormAttrs::read(call.attrs);
  const float eps = attrs.eps;
  const int64_t rows = x.dims[0], columns = x.dims[1];
  parallel_spans(call, rows, kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* w = read_weight(weight, columns, attrs.weight_offset, row_slot(call, thread, 0, columns));
    float *x_scratch = row_slot(call, thread, 1, columns), *y_scratch = row_slot(call, thread, 2, columns);
    for (int64_t t = first; t < last; t++) {
      const float* in = read_row(x, t * columns, columns, x_scratch);
      float* out = row_scratch(y, t * columns, y_scratch);
      const float r = 1.0f / square_root(dot(in, in, columns) / float(columns) + eps);
      rstd[t] = r;
      for (int64_t i = 0; i < columns; i++) out[i] = in[i] * r * w[i];
      write_row(y, t * columns, columns, out);
    }
  });
}

void rms_norm_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 3, call.in[rms_norm_in::x]->dims[1]);
}

void rms_norm_grad(Call& call) {
  const Tensor &dy = *call.in[rms_norm_grad_in::dy], &x = *call.in[rms_norm_grad_in::x],
               &weight = *call.in[rms_norm_grad_in::weight];
  const Tensor *addend = call.in[rms_norm_grad_in::addend], &dx = *call.out[rms_norm_grad_out::dx];
  const float offset = RmsNormGradAttrs::read(call.attrs).weight_offset;
  const float* rstd = floats_of(*call.in[rms_norm_grad_in::rstd]);
  const int64_t rows = x.dims[0], columns = x.dims[1];
  parallel_spans(call, rows, kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    const float* w = read_weight(weight, columns, offset, row_slot(call, thread, 0, columns));
    float *x_scratch = row_slot(call, thread, 1, columns), *dy_scratch = row_slot(call, thread, 2, columns),
          *dx_scratch = row_slot(call, thread, 3, columns);
    for (int64_t t = first; t < last; t++) {
      const float *in = read_row(x, t * columns, columns, x_scratch),
                  *grad = read_row(dy, t * columns, columns, dy_scratch);
      float* out = row_scratch(dx, t * columns, dx_scratch);
      const float r = rstd[t], pull = dot3(grad, w, in, columns) * r * r / float(columns);
      for (int64_t i = 0; i < columns; i++) out[i] = r * (grad[i] * w[i] - in[i] * pull);
      write_row(dx, t * columns, columns, out);
      if (!addend) continue;
      // As `add` would: the rounded gradient is the second operand.
      const float *added = read_row(*addend, t * columns, columns, x_scratch),
                  *rounded = read_row(dx, t * columns, columns, dy_scratch);
      for (int64_t i = 0; i < columns; i++) out[i] = added[i] + rounded[i];
      write_row(dx, t * columns, columns, out);
    }
  });
}

void rms_norm_grad_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 4, call.in[rms_norm_grad_in::x]->dims[1]);
}

// Threads share the columns, and each column is summed from the first row to the last, so the sum is the same
// for any number of threads.
void rms_norm_weight_grad(Call& call) {
  const Tensor &dy = *call.in[rms_norm_weight_grad_in::dy], &x = *call.in[rms_norm_weight_grad_in::x];
  const float* rstd = floats_of(*call.in[rms_norm_weight_grad_in::rstd]);
  float* dweight = floats_of(*call.out[rms_norm_weight_grad_out::dweight]);
  const int64_t rows = x.dims[0], columns = x.dims[1];
  constexpr int64_t kColumns = 128;
  parallel_spans(call, columns, kColumns, [&](int64_t first, int64_t last, int) {
    float sum[kColumns] = {}, x_scratch[kColumns], dy_scratch[kColumns];
    const int64_t n = last - first;
    for (int64_t t = 0; t < rows; t++) {
      const float *in = read_row(x, t * columns + first, n, x_scratch),
                  *grad = read_row(dy, t * columns + first, n, dy_scratch);
      for (int64_t i = 0; i < n; i++) sum[i] += grad[i] * in[i] * rstd[t];
    }
    std::memcpy(dweight + first, sum, size_t(n) * 4);
  });
}

}  // namespace cairn::CAIRN_ISA
