// Ops that look at each element once: add, scale, cast, accumulate; and embed, which copies rows.
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
    alignas(64) float a_room[kStrip], b_room[kStrip], out_room[kStrip];
    for (int64_t at = first; at < last; at += kStrip) {
      const int64_t n = min64(kStrip, last - at);
      const float *left = read_row(a, at, n, a_room), *right = b ? read_row(*b, at, n, b_room) : left;
      for (int64_t i = 0; i < n; i++) out_room[i] = combine(left[i], right[i]);
      write_row(out, at, n, out_room);
    }
  });
}

}  // namespace

void add(Call& call) {
  map_elements(call, *call.in[add_in::a], call.in[add_in::b], *call.out[add_out::y], [](float a, float b) { return a + b; });
}

void accumulate(Call& call) {
  map_elements(call, *call.in[accumulate_in::total], call.in[accumulate_in::x], *call.out[accumulate_out::y], [](float a, float b) { return a + b; });
}

void scale(Call& call) {
  const float factor = floats_of(*call.in[scale_in::factor])[0];
  map_elements(call, *call.in[scale_in::x], nullptr, *call.out[scale_out::y], [factor](float x, float) { return x * factor; });
}

void cast(Call& call) {
  map_elements(call, *call.in[cast_in::x], nullptr, *call.out[cast_out::y], [](float x, float) { return x; });
}

void embed(Call& call) {
  const Tensor &table = *call.in[embed_in::table], &ids = *call.in[embed_in::ids], &y = *call.out[embed_out::y];
  const int64_t columns = table.dims[1];
  const Stored stored = stored_of(table);
  const int32_t* id = ints_of(ids);
  for (int64_t t = 0; t < ids.count; t++)
    if (id[t] < 0 || id[t] >= table.dims[0]) throw std::runtime_error("an id lies outside the table");
  parallel_spans(call, ids.count, kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float* room = row_slot(call, thread, 0, columns);
    for (int64_t t = first; t < last; t++) {
      decode_floats(stored, id[t], 0, columns, room);
      write_row(y, t * columns, columns, room);
    }
  });
}

void embed_rooms(const Call& call, Rooms& rooms) { add_row_slots(rooms, 1, call.in[embed_in::table]->dims[1]); }

// Columns are shared out; each is summed from the first row to the last.
void embed_grad(Call& call) {
  const Tensor &dy = *call.in[embed_grad_in::dy], &ids = *call.in[embed_grad_in::ids], &dtable = *call.out[embed_grad_out::dtable];
  const int64_t columns = dtable.dims[1];
  const int32_t* id = ints_of(ids);
  for (int64_t t = 0; t < ids.count; t++)
    if (id[t] < 0 || id[t] >= dtable.dims[0]) throw std::runtime_error("an id lies outside the table");
  std::memset(dtable.data, 0, size_t(dtable.count) * 4);
  constexpr int64_t kColumns = 128;
  parallel_spans(call, columns, kColumns, [&](int64_t first, int64_t last, int) {
    float room[kColumns];
    for (int64_t t = 0; t < ids.count; t++) {
      const float* grad = read_row(dy, t * columns + first, last - first, room);
      float* sum = floats_of(dtable) + id[t] * columns + first;
      for (int64_t i = 0; i < last - first; i++) sum[i] += grad[i];
    }
  });
}

}  // namespace cairn::CAIRN_ISA
