// Ops that adapters need besides products: dropout, row lengths of adapted weights, and scaled columns.
#include <stdexcept>

#include "decode.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr int64_t kColumns = 128;
// Elements per batch of random numbers: whole calls of `uniforms` in every instruction set.
constexpr int64_t kDrawn = 1024;

}  // namespace

void dropout(Call& call) {
  const Tensor &x = *call.in[dropout_in::x], &random = *call.in[dropout_in::random],
               &y = *call.out[dropout_out::y];
  const auto attrs = DropoutAttrs::read(call.attrs);
  if (!(attrs.rate >= 0 && attrs.rate < 1)) throw std::runtime_error("a rate must be in [0, 1)");
  const int32_t* words = ints_of(random);
  Rounding drawn;
  drawn.seed[0] = uint32_t(words[0]);
  drawn.seed[1] = uint32_t(words[1]);
  drawn.step = uint32_t(words[2]);
  drawn.stream = uint32_t(attrs.stream);
  const float kept = 1 / (1 - attrs.rate);
  parallel_spans(call, x.count, kElementsPerTask, [&](int64_t first, int64_t last, int) {
    alignas(64) float uniform[kDrawn], scratch[kDrawn], out[kDrawn];
    for (int64_t at = first; at < last; at += kDrawn) {
      const int64_t n = min64(kDrawn, last - at);
      for (int64_t i = 0; i < n; i += 4 * VL) uniforms(drawn, (at + i) / 4, uniform + i);
      const float* in = read_row(x, at, n, scratch);
      for (int64_t i = 0; i < n; i++) out[i] = uniform[i] < attrs.rate ? 0 : in[i] * kept;
      write_row(y, at, n, out);
    }
  });
}

void row_norms(Call& call) {
  const Tensor &weight = *call.in[row_norms_in::weight], &y = *call.out[row_norms_out::y];
  const Tensor *a = call.in[row_norms_in::a], *b = call.in[row_norms_in::b];
  if (!a != !b) throw std::runtime_error("a and b come together");
  const float alpha = RowNormsAttrs::read(call.attrs).alpha;
  const int64_t rows = weight.dims[0], columns = weight.dims[1], rank = a ? a->dims[0] : 0;
  const Stored stored = stored_of(weight);
  float* down = a ? static_cast<float*>(shared_scratch(call.scratch, 0, size_t(a->count) * 4)) : nullptr;
  for (int64_t r = 0; r < rank; r++) {
    const float* row = read_row(*a, r * columns, columns, down + r * columns);
    if (row != down + r * columns) std::memcpy(down + r * columns, row, size_t(columns) * 4);
  }
  parallel_spans(call, rows, kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *row = row_slot(call, thread, 0, columns), *up = row_slot(call, thread, 1, max64(rank, 1));
    for (int64_t n = first; n < last; n++) {
      decode_floats(stored, n, 0, columns, row);
      const float* factors = rank ? read_row(*b, n * rank, rank, up) : up;
      for (int64_t r = 0; r < rank; r++) {
        const float factor = alpha * factors[r], *other = down + r * columns;
        for (int64_t i = 0; i < columns; i++) row[i] += factor * other[i];
      }
      floats_of(y)[n] = square_root(dot(row, row, columns));
    }
  });
}

void row_norms_scratch(const Call& call, ScratchSizes& sizes) {
  const Tensor *weight = call.in[row_norms_in::weight], *a = call.in[row_norms_in::a];
  if (a) sizes.add_shared(0, size_t(a->count) * 4);
  sizes.add_own(0, size_t(weight->dims[1]) * 4);
  sizes.add_own(1, size_t(a ? a->dims[0] : 1) * 4);
}

void scale_columns(Call& call) {
  const Tensor &x = *call.in[scale_columns_in::x], &weight = *call.in[scale_columns_in::weight],
               &y = *call.out[scale_columns_out::y];
  const Tensor *bias = call.in[scale_columns_in::bias], *addend = call.in[scale_columns_in::addend];
  const float *by = floats_of(weight), *norms = floats_of(*call.in[scale_columns_in::norms]);
  const int64_t n = weight.count;
  float* factors = static_cast<float*>(shared_scratch(call.scratch, 0, size_t(n) * 4));
  for (int64_t i = 0; i < n; i++) factors[i] = by[i] / norms[i];
  parallel_spans(call, x.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *same = row_slot(call, thread, 0, n), *in = row_slot(call, thread, 1, n),
          *more = row_slot(call, thread, 2, n), *out = row_slot(call, thread, 3, n);
    const float* b = bias ? read_row(*bias, 0, n, same) : nullptr;
    for (int64_t t = first; t < last; t++) {
      const float *row = read_row(x, t * n, n, in),
                  *added = addend ? read_row(*addend, t * n, n, more) : nullptr;
      for (int64_t i = 0; i < n; i++) {
        float sum = row[i] * factors[i];
        if (b) sum += b[i];
        if (added) sum += added[i];
        out[i] = sum;
      }
      write_row(y, t * n, n, out);
    }
  });
}

void scale_columns_scratch(const Call& call, ScratchSizes& sizes) {
  const int64_t n = call.in[scale_columns_in::x]->dims[1];
  sizes.add_shared(0, size_t(n) * 4);
  add_row_slots(sizes, 4, n);
}

// Threads share the columns; each column is summed from the first row to the last.
void scale_columns_weight_grad(Call& call) {
  const Tensor &dy = *call.in[scale_columns_weight_grad_in::dy],
               &x = *call.in[scale_columns_weight_grad_in::x];
  const float* norms = floats_of(*call.in[scale_columns_weight_grad_in::norms]);
  float* dweight = floats_of(*call.out[scale_columns_weight_grad_out::dweight]);
  const int64_t rows = x.dims[0], columns = x.dims[1];
  parallel_spans(call, columns, kColumns, [&](int64_t first, int64_t last, int) {
    float sum[kColumns] = {}, x_scratch[kColumns], dy_scratch[kColumns];
    const int64_t n = last - first;
    for (int64_t t = 0; t < rows; t++) {
      const float *in = read_row(x, t * columns + first, n, x_scratch),
                  *grad = read_row(dy, t * columns + first, n, dy_scratch);
      for (int64_t i = 0; i < n; i++) sum[i] += grad[i] * in[i];
    }
    for (int64_t i = 0; i < n; i++) dweight[first + i] = sum[i] / norms[first + i];
  });
}

void adapter_columns(Call& call) {
  const Tensor &x = *call.in[adapter_columns_in::x], &factors = *call.in[adapter_columns_in::factors],
               &adapters = *call.in[adapter_columns_in::adapters], &y = *call.out[adapter_columns_out::y];
  const int32_t* adapter = ints_of(adapters);
  for (int64_t t = 0; t < adapters.count; t++)
    if (adapter[t] < -1 || adapter[t] >= factors.dims[0])
      throw std::runtime_error("a row names an adapter that is not there");
  const Tensor *bias = call.in[adapter_columns_in::bias], *addend = call.in[adapter_columns_in::addend];
  const float* delta = floats_of(*call.in[adapter_columns_in::delta]);
  const int64_t n = x.dims[1];
  parallel_spans(call, x.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *same = row_slot(call, thread, 0, n), *more = row_slot(call, thread, 1, n),
          *out = row_slot(call, thread, 2, n);
    const float* b = bias ? read_row(*bias, 0, n, same) : nullptr;
    for (int64_t t = first; t < last; t++) {
      const float *row = floats_of(x) + t * n, *change = delta + t * n,
                  *added = addend ? read_row(*addend, t * n, n, more) : nullptr,
                  *by = adapter[t] < 0 ? nullptr : floats_of(factors) + adapter[t] * n;
      for (int64_t i = 0; i < n; i++) {
        const float biased = b ? b[i] : 0, rest = added ? added[i] : 0;
        out[i] = by ? (row[i] + change[i]) * by[i] + biased + rest : (row[i] + biased) + (change[i] + rest);
      }
      write_row(y, t * n, n, out);
    }
  });
}

void adapter_columns_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 3, call.in[adapter_columns_in::x]->dims[1]);
}

}  // namespace cairn::CAIRN_ISA
