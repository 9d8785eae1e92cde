// Elementwise ops: add, scale, cast, accumulate; ops that copy rows or parts of them: embed and columns; and
// sums of columns.
#include <stdexcept>

#include "decode.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr int64_t kStrip = 1024;

// out[i] = combine(a[i], b[i]); b may be null.
template <class Combine>
void map_elements(Call& call, const Tensor& a, const Tensor* b, const Tensor& out, Combine combine) {
  parallel_spans(call, a.count, kElementsPerTask, [&](int64_t first, int64_t last, int) {
    alignas(64) float a_scratch[kStrip], b_scratch[kStrip], out_scratch[kStrip];
    for (int64_t at = first; at < last; at += kStrip) {
      const int64_t n = min64(kStrip, last - at);
      const float *left = read_row(a, at, n, a_scratch), *right = b ? read_row(*b, at, n, b_scratch) : left;
      for (int64_t i = 0; i < n; i++) out_scratch[i] = combine(left[i], right[i]);
      write_row(out, at, n, out_scratch);
    }
  });
}

}  // namespace

void add(Call& call) {
  map_elements(call, *call.in[add_in::a], call.in[add_in::b], *call.out[add_out::y],
      [](float a, float b) { return a + b; });
}

void accumulate(Call& call) {
  map_elements(call, *call.in[accumulate_in::total], call.in[accumulate_in::x], *call.out[accumulate_out::y],
      [](float a, float b) { return a + b; });
}

void scale(Call& call) {
  const float factor = floats_of(*call.in[scale_in::factor])[0];
  map_elements(call, *call.in[scale_in::x], nullptr, *call.out[scale_out::y],
      [factor](float x, float) { return x * factor; });
}

void softcap(Call& call) {
  const float cap = SoftcapAttrs::read(call.attrs).cap;
  map_elements(call, *call.in[softcap_in::x], nullptr, *call.out[softcap_out::y],
      [cap](float x, float) { return tanh(splat(x / cap))[0] * cap; });
}

void cast(Call& call) {
  map_elements(call, *call.in[cast_in::x], nullptr, *call.out[cast_out::y], [](float x, float) { return x; });
}

void embed(Call& call) {
  const Tensor &table = *call.in[embed_in::table], &ids = *call.in[embed_in::ids],
               &y = *call.out[embed_out::y];
  const int64_t columns = table.dims[1];
  const Stored stored = stored_of(table);
  const float scale = EmbedAttrs::read(call.attrs).scale;
  const int32_t* id = ints_of(ids);
  for (int64_t t = 0; t < ids.count; t++)
    if (id[t] < 0 || id[t] >= table.dims[0]) throw std::runtime_error("an id lies outside the table");
  parallel_spans(call, ids.count, kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float* scratch = row_slot(call, thread, 0, columns);
    for (int64_t t = first; t < last; t++) {
      decode_floats(stored, id[t], 0, columns, scratch);
      if (scale != 0)
        for (int64_t i = 0; i < columns; i++) scratch[i] *= scale;
      write_row(y, t * columns, columns, scratch);
    }
  });
}

void embed_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 1, call.in[embed_in::table]->dims[1]);
}

// Threads share the columns; each column is summed from the first row to the last.
void embed_grad(Call& call) {
  const Tensor &dy = *call.in[embed_grad_in::dy], &ids = *call.in[embed_grad_in::ids],
               &dtable = *call.out[embed_grad_out::dtable];
  const int64_t columns = dtable.dims[1];
  const float given = EmbedGradAttrs::read(call.attrs).scale, scale = given == 0 ? 1 : given;
  const int32_t* id = ints_of(ids);
  for (int64_t t = 0; t < ids.count; t++)
    if (id[t] < 0 || id[t] >= dtable.dims[0]) throw std::runtime_error("an id lies outside the table");
  std::memset(dtable.data, 0, size_t(dtable.count) * 4);
  constexpr int64_t kColumns = 128;
  parallel_spans(call, columns, kColumns, [&](int64_t first, int64_t last, int) {
    float scratch[kColumns];
    for (int64_t t = 0; t < ids.count; t++) {
      const float* grad = read_row(dy, t * columns + first, last - first, scratch);
      float* sum = floats_of(dtable) + id[t] * columns + first;
      for (int64_t i = 0; i < last - first; i++) sum[i] += scale * grad[i];
    }
  });
}

// Threads share the columns; each column is summed from the first row to the last.
void bias_grad(Call& call) {
  const Tensor &dy = *call.in[bias_grad_in::dy], &dbias = *call.out[bias_grad_out::dbias];
  const int64_t rows = dy.dims[0], columns = dy.dims[1];
  constexpr int64_t kColumns = 128;
  parallel_spans(call, columns, kColumns, [&](int64_t first, int64_t last, int) {
    float sum[kColumns] = {}, scratch[kColumns];
    const int64_t n = last - first;
    for (int64_t t = 0; t < rows; t++) {
      const float* grad = read_row(dy, t * columns + first, n, scratch);
      for (int64_t i = 0; i < n; i++) sum[i] += grad[i];
    }
    std::memcpy(floats_of(dbias) + first, sum, size_t(n) * 4);
  });
}

namespace {
// Throws unless columns [from, from + count) exist.
void check_columns(int64_t from, int64_t count, int64_t columns) {
  if (from < 0 || from + count > columns) throw std::runtime_error("the columns lie outside x");
}
}  // namespace

void columns(Call& call) {
  const Tensor &x = *call.in[columns_in::x], &y = *call.out[columns_out::y];
  const int64_t from = ColumnsAttrs::read(call.attrs).from, size = int64_t(element_size(x.dtype));
  check_columns(from, y.dims[1], x.dims[1]);
  parallel_spans(call, x.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int) {
    for (int64_t t = first; t < last; t++)
      std::memcpy(
          y.data + t * y.dims[1] * size, x.data + (t * x.dims[1] + from) * size, size_t(y.dims[1] * size));
  });
}

void columns_grad(Call& call) {
  const Tensor &dy = *call.in[columns_grad_in::dy], &dx = *call.out[columns_grad_out::dx];
  const Tensor* addend = call.in[columns_grad_in::addend];
  const int64_t from = ColumnsGradAttrs::read(call.attrs).from, part = dy.dims[1], whole = dx.dims[1],
                size = int64_t(element_size(dx.dtype));
  check_columns(from, part, whole);
  parallel_spans(call, dx.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *a = row_slot(call, thread, 0, part), *b = row_slot(call, thread, 1, part),
          *sum = row_slot(call, thread, 2, part);
    for (int64_t t = first; t < last; t++) {
      char* row = dx.data + t * whole * size;
      if (!addend) {
        std::memset(row, 0, size_t(whole * size));
        std::memcpy(row + from * size, dy.data + t * part * size, size_t(part * size));
        continue;
      }
      std::memcpy(row, addend->data + t * whole * size, size_t(whole * size));
      const float *own = read_row(dy, t * part, part, a),
                  *more = read_row(*addend, t * whole + from, part, b);
      for (int64_t i = 0; i < part; i++) sum[i] = own[i] + more[i];
      write_row(dx, t * whole + from, part, sum);
    }
  });
}

void columns_grad_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 3, call.in[columns_grad_in::dy]->dims[1]);
}

}  // namespace cairn::CAIRN_ISA
