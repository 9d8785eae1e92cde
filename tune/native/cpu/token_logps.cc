// Log-probabilities of given tokens, and their gradient. Rows without a target are excluded from the
// products: rows with one are gathered, `chunk` at a time, and their logits exist only during that chunk.
#include "head_rows.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

// Slots of the shared scratch besides those of gemm.
enum : int { kLogits = 0, kRows = 1, kGrads = 2, kLive = 3 };

struct Head {
  const Tensor &x, &weight, &targets;
  Arithmetic arithmetic;
  int64_t chunk;
  float scale, cap;  // of logits

  int64_t tokens() const { return x.dims[0]; }
  int64_t columns() const { return x.dims[1]; }
  int64_t vocab() const { return weight.dims[0]; }
  int64_t max_rows() const { return min64(chunk, tokens()); }
  size_t row_bytes() const { return size_t(columns()) * element_size(x.dtype); }
};

// The last chunk may have any number of rows. One row less than all is packed although all are read in place.
void count_scratch(ScratchSizes& sizes, const Head& h, bool has_grad) {
  const Dtype dtype = logits_dtype(h.arithmetic);
  const Operand of_x{plain(nullptr, h.x.dtype, h.columns()), true},
      of_logits{plain(nullptr, dtype, h.vocab()), true};
  sizes.add_shared(kLogits, logits_bytes(h.max_rows(), h.vocab(), h.arithmetic));
  sizes.add_shared(kRows, size_t(h.max_rows()) * h.row_bytes());
  sizes.add_shared(kLive, size_t(h.tokens()) * 4);
  if (has_grad) sizes.add_shared(kGrads, size_t(h.max_rows()) * h.row_bytes());
  for (const int64_t rows : {h.max_rows(), max64(1, h.max_rows() - 1)}) {
    gemm_scratch({rows, h.vocab(), {{of_x, {}, h.columns()}, {}}, 1.0f, h.arithmetic, nullptr, {}}, sizes);
    if (has_grad)
      gemm_scratch(
          {rows, h.columns(), {{of_logits, {}, h.vocab()}, {}}, 1.0f, h.arithmetic, nullptr, {}}, sizes);
  }
}

// Calls body(logits, live, rows) for chunks of the rows that have a target; `live` are their indices.
template <class Body>
void over_live_rows(Call& call, const Head& h, Body body) {
  if (h.chunk < 1) throw std::runtime_error("chunk must be at least 1");
  check_targets(h.targets, h.vocab());
  const Dtype dtype = logits_dtype(h.arithmetic);
  int32_t* live = static_cast<int32_t*>(shared_scratch(call.scratch, kLive, size_t(h.tokens()) * 4));
  int64_t count = 0;
  for (int64_t t = 0; t < h.tokens(); t++)
    if (ints_of(h.targets)[t] != kIgnored) live[count++] = int32_t(t);
  if (count == 0) return;
  char* rows_of_x =
      static_cast<char*>(shared_scratch(call.scratch, kRows, size_t(h.max_rows()) * h.row_bytes()));
  Tensor logits{dtype, 2, {h.max_rows(), h.vocab(), 0, 0}, 0, nullptr};
  logits.data = static_cast<char*>(
      shared_scratch(call.scratch, kLogits, logits_bytes(h.max_rows(), h.vocab(), h.arithmetic)));
  for (int64_t first = 0; first < count; first += h.chunk) {
    const int64_t rows = min64(h.chunk, count - first);
    parallel(call, rows, [&](int64_t i, int) {
      std::memcpy(rows_of_x + size_t(i) * h.row_bytes(), h.x.data + size_t(live[first + i]) * h.row_bytes(),
          h.row_bytes());
    });
    const Operand a{plain(rows_of_x, h.x.dtype, h.columns()), true}, b{stored_of(h.weight), true};
    gemm(call, {rows, h.vocab(), {{a, b, h.columns()}, {}}, h.scale, h.arithmetic, nullptr, logits});
    body(logits, live + first, rows);
  }
}

template <class T>
void score_row(T* z, int64_t n, int32_t target, float cap, float& logp, float& lse) {
  if (cap != 0) cap_row(z, n, cap);
  const float maximum = row_max(z, n);
  vf lanes{};
  over_row(z, n, [&](vf v, T*, int) { lanes += exp2<false>((v - maximum) * kLog2E); });
  lse = maximum + __builtin_logf(sum_lanes(lanes));
  logp = float_at(z, target) - lse;
}

// Replaces the logits by d · (onehot − softmax), times the slope of the cap.
template <class T>
void grad_row(T* z, int64_t n, int32_t target, float cap, float d, float lse) {
  if (cap != 0) cap_row(z, n, cap);
  const float wanted = float_at(z, target), p = __builtin_expf(wanted - lse);
  over_row(z, n, [&](vf v, T* to, int live) {
    const vf grad = exp2<sizeof(T) == 2>((v - lse) * kLog2E) * -d;
    store_live(to, cap == 0 ? grad : grad * slope_of(v, cap), live);
  });
  put_one(z + target, d * (1.0f - p) * slope_of(wanted, cap));
}

}  // namespace

void token_logps(Call& call) {
  const auto attrs = TokenLogpsAttrs::read(call.attrs);
  const Head h{*call.in[token_logps_in::x], *call.in[token_logps_in::weight],
      *call.in[token_logps_in::targets], attrs.arithmetic, attrs.chunk, one_if_absent(attrs.scale),
      attrs.softcap};
  float *logps = floats_of(*call.out[token_logps_out::logps]),
        *lse = floats_of(*call.out[token_logps_out::lse]);
  std::memset(logps, 0, size_t(h.tokens()) * 4);
  std::memset(lse, 0, size_t(h.tokens()) * 4);
  over_live_rows(call, h, [&](const Tensor& logits, const int32_t* live, int64_t rows) {
    parallel(call, rows, [&](int64_t i, int) {
      const int32_t t = live[i], target = ints_of(h.targets)[t];
      if (logits.dtype == Dtype::bf16)
        score_row(reinterpret_cast<bf16*>(logits.data) + i * h.vocab(), h.vocab(), target, h.cap,
            logps[t], lse[t]);
      else
        score_row(reinterpret_cast<float*>(logits.data) + i * h.vocab(), h.vocab(), target, h.cap,
            logps[t], lse[t]);
    });
  });
}

void token_logps_grad(Call& call) {
  const auto attrs = TokenLogpsGradAttrs::read(call.attrs);
  const Head h{*call.in[token_logps_grad_in::x], *call.in[token_logps_grad_in::weight],
      *call.in[token_logps_grad_in::targets], attrs.arithmetic, attrs.chunk, one_if_absent(attrs.scale),
      attrs.softcap};
  const float *dlogps = floats_of(*call.in[token_logps_grad_in::dlogps]),
              *lse = floats_of(*call.in[token_logps_grad_in::lse]);
  const Tensor& dx = *call.out[token_logps_grad_out::dx];
  std::memset(dx.data, 0, size_t(h.tokens()) * h.row_bytes());
  over_live_rows(call, h, [&](const Tensor& logits, const int32_t* live, int64_t rows) {
    parallel(call, rows, [&](int64_t i, int) {
      const int32_t t = live[i], target = ints_of(h.targets)[t];
      if (logits.dtype == Dtype::bf16)
        grad_row(reinterpret_cast<bf16*>(logits.data) + i * h.vocab(), h.vocab(), target, h.cap,
            dlogps[t], lse[t]);
      else
        grad_row(reinterpret_cast<float*>(logits.data) + i * h.vocab(), h.vocab(), target, h.cap,
            dlogps[t], lse[t]);
    });
    Tensor grads{dx.dtype, 2, {rows, h.columns(), 0, 0}, 0, nullptr};
    grads.data =
        static_cast<char*>(shared_scratch(call.scratch, kGrads, size_t(h.max_rows()) * h.row_bytes()));
    const Operand a{plain(logits.data, logits.dtype, h.vocab()), true}, b{stored_of(h.weight), false};
    gemm(call, {rows, h.columns(), {{a, b, h.vocab()}, {}}, h.scale, h.arithmetic, nullptr, grads});
    parallel(call, rows, [&](int64_t i, int) {
      std::memcpy(dx.data + size_t(live[i]) * h.row_bytes(), grads.data + size_t(i) * h.row_bytes(),
          h.row_bytes());
    });
  });
}

void token_logps_scratch(const Call& call, ScratchSizes& sizes) {
  const auto attrs = TokenLogpsAttrs::read(call.attrs);
  count_scratch(sizes,
      {*call.in[token_logps_in::x], *call.in[token_logps_in::weight], *call.in[token_logps_in::targets],
          attrs.arithmetic, attrs.chunk, 1, 0},
      false);
}

void token_logps_grad_scratch(const Call& call, ScratchSizes& sizes) {
  const auto attrs = TokenLogpsGradAttrs::read(call.attrs);
  count_scratch(sizes,
      {*call.in[token_logps_grad_in::x], *call.in[token_logps_grad_in::weight],
          *call.in[token_logps_grad_in::targets], attrs.arithmetic, attrs.chunk, 1, 0},
      true);
}

}  // namespace cairn::CAIRN_ISA
