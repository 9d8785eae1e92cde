// Copies rows by index: into a cache, and out of a batch.
#include <stdexcept>

#include "kernels.h"
#include "paged_cache.h"

namespace cairn::CAIRN_ISA {

void paged_write(Call& call) {
  const Tensor &k = *call.in[paged_write_in::k], &v = *call.in[paged_write_in::v],
               &slots = *call.in[paged_write_in::slots], &keys = *call.out[paged_write_out::keys];
  const Tensor& values = *call.out[paged_write_out::values];
  const int64_t width = k.dims[1], block = PagedWriteAttrs::read(call.attrs).block,
                per = numbers_a_word(keys.dtype), words = width / per;
  check_cache(keys.dtype, keys.dims[0], width, block);
  const int32_t* slot = ints_of(slots);
  for (int64_t t = 0; t < slots.count; t++)
    if (slot[t] < -1 || slot[t] >= keys.dims[0]) throw std::runtime_error("a slot lies outside the cache");
  parallel_spans(call, slots.count, kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    char* scratch = reinterpret_cast<char*>(row_slot(call, thread, 0, width));
    float* wide = row_slot(call, thread, 1, width);
    // Row t in the number format of the cache.
    const auto row_of = [&](const Tensor& x, int64_t t) -> const char* {
      if (x.dtype == keys.dtype) return x.data + t * width * int64_t(element_size(x.dtype));
      Tensor row = keys;
      row.data = scratch;
      write_row(row, 0, width, read_row(x, t * width, width, wide));
      return scratch;
    };
    for (int64_t t = first; t < last; t++) {
      if (slot[t] < 0) continue;
      const int64_t base = slot[t] / block * block * words, j = slot[t] % block;
      const uint32_t* from = reinterpret_cast<const uint32_t*>(row_of(k, t));
      uint32_t* to = reinterpret_cast<uint32_t*>(keys.data) + base + j;
      for (int64_t i = 0; i < words; i++) to[i * block] = from[i];
      const char* value = row_of(v, t);
      uint32_t* row = reinterpret_cast<uint32_t*>(values.data) + base + j / per * width;
      if (per == 1) {
        std::memcpy(row, value, size_t(width) * 4);
        continue;
      }
      // Writes one half of each word; another thread may be writing the other.
      const uint16_t* halves = reinterpret_cast<const uint16_t*>(value);
      for (int64_t i = 0; i < width; i++) reinterpret_cast<uint16_t*>(row + i)[j % 2] = halves[i];
    }
  });
}

void gather_rows(Call& call) {
  const Tensor &x = *call.in[gather_rows_in::x], &rows = *call.in[gather_rows_in::rows],
               &y = *call.out[gather_rows_out::y];
  const size_t bytes = size_t(x.dims[1]) * element_size(x.dtype);
  const int32_t* row = ints_of(rows);
  for (int64_t i = 0; i < rows.count; i++)
    if (row[i] < -1 || row[i] >= x.dims[0]) throw std::runtime_error("a row lies outside x");
  parallel_spans(call, rows.count, kRowsPerTask, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; i++) {
      if (row[i] >= 0) std::memcpy(y.data + size_t(i) * bytes, x.data + size_t(row[i]) * bytes, bytes);
      else std::memset(y.data + size_t(i) * bytes, 0, bytes);
    }
  });
}

void paged_write_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 2, call.in[paged_write_in::k]->dims[1]);
}

}  // namespace cairn::CAIRN_ISA
