// Rows by number: into a cache, and out of a batch.
#include <stdexcept>

#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

inline void copy_row(const Tensor& from, int64_t from_row, const Tensor& to, int64_t to_row, int64_t width, float* room) {
  if (from.dtype == to.dtype) {
    const size_t bytes = size_t(width) * element_size(from.dtype);
    std::memcpy(to.data + size_t(to_row) * bytes, from.data + size_t(from_row) * bytes, bytes);
  } else {
    write_row(to, to_row * width, width, read_row(from, from_row * width, width, room));
  }
}

}  // namespace

void paged_write(Call& call) {
  const Tensor &x = *call.in[paged_write_in::x], &slots = *call.in[paged_write_in::slots], &y = *call.out[paged_write_out::y];
  const int64_t width = x.dims[1];
  const int32_t* slot = ints_of(slots);
  for (int64_t t = 0; t < slots.count; t++)
    if (slot[t] < -1 || slot[t] >= y.dims[0]) throw std::runtime_error("a slot lies outside the cache");
  parallel_spans(call, slots.count, kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float* room = row_slot(call, thread, 0, width);
    for (int64_t t = first; t < last; t++)
      if (slot[t] >= 0) copy_row(x, t, y, slot[t], width, room);
  });
}

void gather_rows(Call& call) {
  const Tensor &x = *call.in[gather_rows_in::x], &rows = *call.in[gather_rows_in::rows], &y = *call.out[gather_rows_out::y];
  const int64_t width = x.dims[1];
  const int32_t* row = ints_of(rows);
  for (int64_t i = 0; i < rows.count; i++)
    if (row[i] < -1 || row[i] >= x.dims[0]) throw std::runtime_error("a row lies outside x");
  parallel_spans(call, rows.count, kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float* room = row_slot(call, thread, 0, width);
    for (int64_t i = first; i < last; i++) {
      if (row[i] >= 0) copy_row(x, row[i], y, i, width, room);
      else std::memset(y.data + size_t(i * width) * element_size(y.dtype), 0, size_t(width) * element_size(y.dtype));
    }
  });
}

void paged_write_rooms(const Call& call, Rooms& rooms) { add_row_slots(rooms, 1, call.in[paged_write_in::x]->dims[1]); }
void gather_rows_rooms(const Call& call, Rooms& rooms) { add_row_slots(rooms, 1, call.in[gather_rows_in::x]->dims[1]); }

}  // namespace cairn::CAIRN_ISA
