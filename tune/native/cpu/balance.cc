// The load-balancing loss of experts: how often each is chosen, times its mean probability.
#include <stdexcept>

#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr int64_t kRowsPerSum = 64;

inline bool counts(const Tensor* counted, int64_t t) { return !counted || ints_of(*counted)[t] != 0; }

// p = softmax of a row.
inline void softmax(const float* row, int64_t n, float* p) {
  float maximum = row[0], sum = 0;
  for (int64_t e = 1; e < n; e++) maximum = row[e] > maximum ? row[e] : maximum;
  for (int64_t e = 0; e < n; e++) sum += p[e] = exp(splat(row[e] - maximum))[0];
  for (int64_t e = 0; e < n; e++) p[e] /= sum;
}

}  // namespace

// Rows are summed in spans of fixed size, and the spans in order.
void balance_sums(Call& call) {
  const Tensor &logits = *call.in[balance_sums_in::logits], &ids = *call.in[balance_sums_in::ids];
  const Tensor* counted = call.in[balance_sums_in::counted];
  const int64_t experts = logits.dims[1], top_k = ids.dims[1], spans = ceil_div(logits.dims[0], kRowsPerSum);
  for (int64_t i = 0; i < ids.count; i++)
    if (ints_of(ids)[i] < 0 || ints_of(ids)[i] >= experts)
      throw std::runtime_error("a choice is of no expert");
  float* partial = static_cast<float*>(shared_scratch(call.scratch, 0, size_t(spans * 2 * experts) * 4));
  parallel_spans(call, logits.dims[0], kRowsPerSum, [&](int64_t first, int64_t last, int thread) {
    float *scratch = row_slot(call, thread, 0, experts), *p = row_slot(call, thread, 1, experts);
    float* sum = partial + first / kRowsPerSum * 2 * experts;
    std::memset(sum, 0, size_t(2 * experts) * 4);
    for (int64_t t = first; t < last; t++) {
      if (!counts(counted, t)) continue;
      softmax(read_row(logits, t * experts, experts, scratch), experts, p);
      for (int64_t j = 0; j < top_k; j++) sum[ints_of(ids)[t * top_k + j]] += 1;
      for (int64_t e = 0; e < experts; e++) sum[experts + e] += p[e];
    }
  });
  float* sums = floats_of(*call.out[balance_sums_out::sums]);
  for (int64_t i = 0; i < 2 * experts; i++) {
    sums[i] = 0;
    for (int64_t span = 0; span < spans; span++) sums[i] += partial[span * 2 * experts + i];
  }
}

void balance_sums_scratch(const Call& call, ScratchSizes& sizes) {
  const Tensor& logits = *call.in[balance_sums_in::logits];
  sizes.add_shared(0, size_t(ceil_div(logits.dims[0], kRowsPerSum) * 2 * logits.dims[1]) * 4);
  add_row_slots(sizes, 2, logits.dims[1]);
}

void balance_sums_grad(Call& call) {
  const Tensor &logits = *call.in[balance_sums_grad_in::logits],
               &dlogits = *call.out[balance_sums_grad_out::dlogits];
  const Tensor* counted = call.in[balance_sums_grad_in::counted];
  const int64_t experts = logits.dims[1];
  const float* dp = floats_of(*call.in[balance_sums_grad_in::dsums]) + experts;
  parallel_spans(call, logits.dims[0], kRowsPerTask, [&](int64_t first, int64_t last, int thread) {
    float *scratch = row_slot(call, thread, 0, experts), *p = row_slot(call, thread, 1, experts);
    for (int64_t t = first; t < last; t++) {
      if (counts(counted, t)) {
        softmax(read_row(logits, t * experts, experts, scratch), experts, p);
        const float pull = dot(p, dp, experts);
        for (int64_t e = 0; e < experts; e++) p[e] *= dp[e] - pull;
      } else {
        std::memset(p, 0, size_t(experts) * 4);
      }
      write_row(dlogits, t * experts, experts, p);
    }
  });
}

void balance_sums_grad_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 2, call.in[balance_sums_grad_in::logits]->dims[1]);
}

void balance_loss(Call& call) {
  const Tensor &sums = *call.in[balance_loss_in::sums], *scale = call.in[balance_loss_in::scale];
  const auto attrs = BalanceLossAttrs::read(call.attrs);
  const int64_t experts = sums.dims[1];
  const float *chosen = floats_of(sums), *likely = chosen + experts;
  float* dsums = floats_of(*call.out[balance_loss_out::dsums]);
  double choices = 0, product = 0;
  for (int64_t e = 0; e < experts; e++) choices += chosen[e], product += double(chosen[e]) * likely[e];
  const double rows = choices / attrs.top_k, factor = rows > 0 ? double(attrs.coefficient) *
                                                                     (scale ? floats_of(*scale)[0] : 1) *
                                                                     double(experts) / (rows * rows)
                                                               : 0;
  floats_of(*call.out[balance_loss_out::loss])[0] = float(factor * product);
  for (int64_t e = 0; e < experts; e++) dsums[e] = 0, dsums[experts + e] = float(factor * chosen[e]);
}

}  // namespace cairn::CAIRN_ISA
