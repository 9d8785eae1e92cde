// The contribution of adapters to a linear, for rows with different adapters.
//
// Rows are sorted by adapter, so that a run of rows of one adapter reads its matrices once. Both products
// keep one chain of sums for each number of the result, in order of k and of r, so a row's bits do not depend
// on the other rows.
#include <stdexcept>

#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr int64_t kRun = 4;         // rows worked on together
constexpr int64_t kColumns = 1024;  // columns of a task

struct Run {
  int32_t adapter, count;
  int32_t rows[kRun];
};

inline const float* at(const float* p, int64_t i) { return p + i; }
inline const bf16* at(const bf16* p, int64_t i) { return p + i; }
inline float one(const float* p) { return *p; }
inline float one(const bf16* p) { return decode_bf16(p->bits); }

// z[i] = x[i]·a for `count` rows.
template <int count, class E>
inline void shrink(const float* const* x, const E* a, int64_t k, float* z) {
  vf sum[count] = {};
  int64_t i = 0;
  for (; i + VL <= k; i += VL) {
    const vf row = load(at(a, i));
    for (int j = 0; j < count; j++) sum[j] = fma(row, load(x[j] + i), sum[j]);
  }
  for (int j = 0; j < count; j++) {
    float rest = 0;
    for (int64_t l = i; l < k; l++) rest += one(at(a, l)) * x[j][l];
    z[j] = sum_lanes(sum[j]) + rest;
  }
}

// out[j][0 … n) = z[j]·b, rows of b `stride` apart.
template <int count, class E>
inline void expand(
    const float* const* z, int64_t rank, const E* b, int64_t stride, int64_t n, float* const* out) {
  int64_t i = 0;
  for (; i + VL <= n; i += VL) {
    vf sum[count] = {};
    for (int64_t r = 0; r < rank; r++) {
      const vf row = load(at(b, r * stride + i));
      for (int j = 0; j < count; j++) sum[j] = fma(splat(z[j][r]), row, sum[j]);
    }
    for (int j = 0; j < count; j++) store(out[j] + i, sum[j]);
  }
  for (; i < n; i++) {
    for (int j = 0; j < count; j++) {
      vf sum{};
      for (int64_t r = 0; r < rank; r++) sum = fma(splat(z[j][r]), splat(one(at(b, r * stride + i))), sum);
      out[j][i] = sum[0];
    }
  }
}

template <class E>
void run_delta(Call& call, const Run* runs, int64_t run_count) {
  const Tensor &x = *call.in[lora_delta_in::x], &a = *call.in[lora_delta_in::a],
               &b = *call.in[lora_delta_in::b], &y = *call.out[lora_delta_out::y];
  const Tensor* addend = call.in[lora_delta_in::addend];
  const float* ranks = floats_of(*call.in[lora_delta_in::ranks]);
  const bool rounds = LoraDeltaAttrs::read(call.attrs).arithmetic == Arithmetic::bf16;
  const int64_t k = x.dims[1], max_rank = a.dims[1], n = b.dims[2];
  float* z = static_cast<float*>(shared_scratch(call.scratch, 1, size_t(x.dims[0] * max_rank) * 4));
  parallel(call, run_count, [&](int64_t i, int thread) {
    const Run& run = runs[i];
    if (run.adapter < 0) return;
    const float* rows[kRun];
    float* scratch = row_slot(call, thread, 0, k * kRun);
    for (int j = 0; j < run.count; j++) rows[j] = read_row(x, run.rows[j] * k, k, scratch + j * k);
    const int64_t rank = int64_t(ranks[run.adapter * 2]);
    const float scale = ranks[run.adapter * 2 + 1];
    for (int64_t r = 0; r < rank; r++) {
      const E* row = reinterpret_cast<const E*>(a.data) + (run.adapter * max_rank + r) * k;
      float sums[kRun];
      if (run.count == 4) shrink<4>(rows, row, k, sums);
      else if (run.count == 3) shrink<3>(rows, row, k, sums);
      else if (run.count == 2) shrink<2>(rows, row, k, sums);
      else shrink<1>(rows, row, k, sums);
      for (int j = 0; j < run.count; j++)
        z[run.rows[j] * max_rank + r] = rounds ? decode_bf16(encode_bf16(scale * sums[j])) : scale * sums[j];
    }
  });
  const int64_t chunks = ceil_div(n, kColumns);
  parallel(call, run_count * chunks, [&](int64_t task, int thread) {
    const Run& run = runs[task / chunks];
    const int64_t first = task % chunks * kColumns, columns = min64(kColumns, n - first);
    float* out[kRun];
    const float* zs[kRun];
    for (int j = 0; j < run.count; j++)
      out[j] = floats_of(y) + run.rows[j] * n + first, zs[j] = z + run.rows[j] * max_rank;
    if (run.adapter < 0) {
      for (int j = 0; j < run.count; j++) std::memset(out[j], 0, size_t(columns) * 4);
    } else {
      const E* from = reinterpret_cast<const E*>(b.data) + run.adapter * max_rank * n + first;
      const int64_t rank = int64_t(ranks[run.adapter * 2]);
      if (run.count == 4) expand<4>(zs, rank, from, n, columns, out);
      else if (run.count == 3) expand<3>(zs, rank, from, n, columns, out);
      else if (run.count == 2) expand<2>(zs, rank, from, n, columns, out);
      else expand<1>(zs, rank, from, n, columns, out);
    }
    if (!addend) return;
    float* scratch = row_slot(call, thread, 0, kColumns);
    for (int j = 0; j < run.count; j++) {
      const float* more = read_row(*addend, run.rows[j] * n + first, columns, scratch);
      for (int64_t i = 0; i < columns; i++) out[j][i] += more[i];
    }
  });
}

size_t run_bytes(int64_t rows, int64_t adapters) {
  return size_t(rows + 1) * sizeof(Run) + size_t(adapters + 1) * 4;
}

}  // namespace

void lora_delta(Call& call) {
  const Tensor &a = *call.in[lora_delta_in::a], &b = *call.in[lora_delta_in::b],
               &adapters = *call.in[lora_delta_in::adapters];
  const float* ranks = floats_of(*call.in[lora_delta_in::ranks]);
  const int32_t* adapter = ints_of(adapters);
  const int64_t rows = adapters.count, count = a.dims[0];
  if (a.dtype != b.dtype) throw std::runtime_error("a and b must be stored alike");
  for (int64_t t = 0; t < rows; t++) {
    if (adapter[t] < -1 || adapter[t] >= count)
      throw std::runtime_error("a row names an adapter that is not there");
    if (adapter[t] >= 0 && !(ranks[adapter[t] * 2] >= 0 && ranks[adapter[t] * 2] <= float(a.dims[1])))
      throw std::runtime_error("an adapter's rank lies outside its slot");
  }
  // Runs of each adapter fill up as rows arrive; a full run is closed.
  Run* runs = static_cast<Run*>(shared_scratch(call.scratch, 0, run_bytes(rows, count)));
  int32_t* open = reinterpret_cast<int32_t*>(runs + rows + 1);
  for (int64_t l = 0; l <= count; l++) open[l] = -1;
  int32_t used = 0;
  for (int64_t t = 0; t < rows; t++) {
    int32_t& at = open[adapter[t] + 1];
    if (at < 0 || runs[at].count == kRun) runs[at = used++] = {adapter[t], 0, {}};
    runs[at].rows[runs[at].count++] = int32_t(t);
  }
  if (a.dtype == Dtype::bf16) run_delta<bf16>(call, runs, used);
  else run_delta<float>(call, runs, used);
}

void lora_delta_scratch(const Call& call, ScratchSizes& sizes) {
  const Tensor &x = *call.in[lora_delta_in::x], &a = *call.in[lora_delta_in::a];
  sizes.add_shared(0, run_bytes(x.dims[0], a.dims[0]));
  sizes.add_shared(1, size_t(x.dims[0] * a.dims[1]) * 4);
  add_row_slots(sizes, 1, max64(x.dims[1] * kRun, kColumns));
}

}  // namespace cairn::CAIRN_ISA
