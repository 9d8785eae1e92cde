// Head and cross-entropy in one op: logits exist for `chunk` tokens at a time, are replaced by their gradient
// in place, and multiplied back.
#include <stdexcept>

#include "gemm.h"
#include "head_rows.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

// One row of logits: returns its loss and replaces it by softmax - onehot, times the slope of the cap.
template <class T>
float loss_and_gradient(T* z, int64_t n, int32_t target, float cap) {
  if (target == kIgnored) {
    std::memset(z, 0, size_t(n) * sizeof(T));
    return 0;
  }
  if (cap != 0) cap_row(z, n, cap);
  const float wanted = float_at(z, target), maximum = row_max(z, n);
  vf lanes{};
  over_row(z, n, [&](vf v, T*, int) { lanes += exp2<false>((v - maximum) * kLog2E); });
  const float sum = sum_lanes(lanes), inverse = 1.0f / sum;
  over_row(z, n, [&](vf v, T* to, int live) {
    const vf p = exp2 < sizeof(T) == 2 > ((v - maximum) * kLog2E) * inverse;
    store_live(to, cap == 0 ? p : p * slope_of(v, cap), live);
  });
  put_one(z + target, (__builtin_expf(wanted - maximum) * inverse - 1.0f) * slope_of(wanted, cap));
  return __builtin_logf(sum) + (maximum - wanted);
}

// The first chunk is the longest. The last may have a number of rows that gemm must pack although it reads
// those of the first in place.
void count_scratch(ScratchSizes& sizes, const Tensor& x, const Tensor& weight, Arithmetic arithmetic,
    int64_t chunk, bool trains) {
  const int64_t max_rows = min64(chunk, x.dims[0]), columns = x.dims[1], vocab = weight.dims[0];
  const Operand of_x{plain(nullptr, x.dtype, columns), true},
      of_logits{plain(nullptr, logits_dtype(arithmetic), vocab), true};
  sizes.add_shared(0, logits_bytes(max_rows, vocab, arithmetic));
  const int64_t chunks[] = {max_rows, x.dims[0] - max64(0, x.dims[0] - 1) / max64(1, chunk) * chunk};
  for (const int64_t rows : chunks) {
    gemm_scratch({rows, vocab, {{of_x, {}, columns}, {}}, 1.0f, arithmetic, nullptr, {}}, sizes);
    gemm_scratch({rows, columns, {{of_logits, {}, vocab}, {}}, 1.0f, arithmetic, nullptr, {}}, sizes);
    if (trains) gemm_scratch({vocab, columns, {{{}, {}, rows}, {}}, 1.0f, arithmetic, nullptr, {}}, sizes);
  }
}

void run(Call& call, const Tensor& x, const Tensor& weight, const Tensor& targets, Arithmetic arithmetic,
    int64_t chunk, float scale, float cap, const Tensor* dweight) {
  const Tensor &losses = *call.out[head_loss_out::losses], &dx = *call.out[head_loss_out::dx];
  const int64_t tokens = x.dims[0], columns = x.dims[1], vocab = weight.dims[0];
  const int32_t* target = ints_of(targets);
  if (chunk < 1) throw std::runtime_error("chunk must be at least 1");
  check_targets(targets, vocab);

  const Dtype dtype = logits_dtype(arithmetic);
  Tensor logits{dtype, 2, {min64(chunk, tokens), vocab, 0, 0}, 0, nullptr};
  logits.data =
      static_cast<char*>(shared_scratch(call.scratch, 0, logits_bytes(logits.dims[0], vocab, arithmetic)));
  for (int64_t first = 0; first < tokens; first += chunk) {
    const int64_t rows = min64(chunk, tokens - first);
    const Stored z = plain(logits.data, dtype, vocab),
                 rows_of_x =
                     plain(x.data + first * columns * int64_t(element_size(x.dtype)), x.dtype, columns);
    gemm(call, {rows, vocab, {{{rows_of_x, true}, {stored_of(weight), true}, columns}, {}}, scale, arithmetic,
                   nullptr, logits});
    parallel(call, rows, [&](int64_t i, int) {
      char* row = logits.data + i * vocab * int64_t(element_size(dtype));
      const int32_t of_row = target[first + i];
      floats_of(losses)[first + i] =
          dtype == Dtype::bf16 ? loss_and_gradient(reinterpret_cast<bf16*>(row), vocab, of_row, cap)
                               : loss_and_gradient(reinterpret_cast<float*>(row), vocab, of_row, cap);
    });
    Tensor dx_rows = dx;
    dx_rows.data += first * columns * int64_t(element_size(dx.dtype));
    gemm(call, {rows, columns, {{{z, true}, {stored_of(weight), false}, vocab}, {}}, scale, arithmetic,
                   nullptr, dx_rows});
    if (dweight)
      gemm(call, {vocab, columns, {{{z, false}, {rows_of_x, false}, rows}, {}}, scale, arithmetic,
                     first > 0 ? dweight : nullptr, *dweight});
  }
  double sum = 0;
  for (int64_t t = 0; t < tokens; t++) sum += double(floats_of(losses)[t]);
  floats_of(*call.out[head_loss_out::loss])[0] = float(sum);
}

}  // namespace

void head_loss(Call& call) {
  const auto attrs = HeadLossAttrs::read(call.attrs);
  run(call, *call.in[head_loss_in::x], *call.in[head_loss_in::weight], *call.in[head_loss_in::targets],
      attrs.arithmetic, attrs.chunk, one_if_absent(attrs.scale), attrs.softcap, nullptr);
}

void head_loss_trained(Call& call) {
  const auto attrs = HeadLossTrainedAttrs::read(call.attrs);
  run(call, *call.in[head_loss_trained_in::x], *call.in[head_loss_trained_in::weight],
      *call.in[head_loss_trained_in::targets], attrs.arithmetic, attrs.chunk, one_if_absent(attrs.scale),
      attrs.softcap, call.out[head_loss_trained_out::dweight]);
}

void head_loss_scratch(const Call& call, ScratchSizes& sizes) {
  const auto attrs = HeadLossAttrs::read(call.attrs);
  count_scratch(
      sizes, *call.in[head_loss_in::x], *call.in[head_loss_in::weight], attrs.arithmetic, attrs.chunk, false);
}

void head_loss_trained_scratch(const Call& call, ScratchSizes& sizes) {
  const auto attrs = HeadLossTrainedAttrs::read(call.attrs);
  count_scratch(sizes, *call.in[head_loss_trained_in::x], *call.in[head_loss_trained_in::weight],
      attrs.arithmetic, attrs.chunk, true);
}

}  // namespace cairn::CAIRN_ISA
