// Sums over sequences and preference losses: a few numbers per sequence, in double precision, by one thread.
#include <cmath>
#include <stdexcept>

#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// Avoids the overflow of the exponential.
double log_sigmoid(double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }
// log(1 − eˣ) for x below 0; TRL's log1mexp.
double log_rest(double x) {
  return x > -0.693147180559945 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}

struct LossAndSlope {
  double loss, slope;
};

LossAndSlope of_margin(int kind, double margin, double beta, double smoothing) {
  const double scaled = beta * margin, gap = margin - 1 / (2 * beta);
  switch (kind) {
    case 0:
      return {-(1 - smoothing) * log_sigmoid(scaled) - smoothing * log_sigmoid(-scaled),
          beta * (smoothing - 1 + sigmoid(scaled))};
    case 1: return {scaled < 1 ? 1 - scaled : 0, scaled < 1 ? -beta : 0};
    case 2: return {gap * gap, 2 * gap};
    default: throw std::runtime_error("there is no such kind of loss");
  }
}

void check_segments(const Tensor& segments, int64_t count) {
  for (int64_t t = 0; t < segments.count; t++)
    if (ints_of(segments)[t] < -1 || ints_of(segments)[t] >= count)
      throw std::runtime_error("a segment lies outside the sums");
}

}  // namespace

void segment_sums(Call& call) {
  const Tensor &x = *call.in[segment_sums_in::x], &segments = *call.in[segment_sums_in::segments],
               &y = *call.out[segment_sums_out::y];
  check_segments(segments, y.count);
  parallel(call, y.count, [&](int64_t s, int) {
    double sum = 0;
    for (int64_t t = 0; t < x.count; t++)
      if (ints_of(segments)[t] == s) sum += double(floats_of(x)[t]);
    floats_of(y)[s] = float(sum);
  });
}

void segment_sums_grad(Call& call) {
  const Tensor &dy = *call.in[segment_sums_grad_in::dy], &segments = *call.in[segment_sums_grad_in::segments],
               &dx = *call.out[segment_sums_grad_out::dx];
  check_segments(segments, dy.count);
  for (int64_t t = 0; t < dx.count; t++) {
    const int32_t s = ints_of(segments)[t];
    floats_of(dx)[t] = s < 0 ? 0 : floats_of(dy)[s];
  }
}

void dpo_loss(Call& call) {
  const auto attrs = DpoLossAttrs::read(call.attrs);
  const float *scores = floats_of(*call.in[dpo_loss_in::scores]),
              *reference = floats_of(*call.in[dpo_loss_in::reference]),
              *weights = floats_of(*call.in[dpo_loss_in::weights]);
  const Tensor* lengths = call.in[dpo_loss_in::lengths];
  float* dscores = floats_of(*call.out[dpo_loss_out::dscores]);
  double sum = 0;
  for (int64_t p = 0; p < call.in[dpo_loss_in::weights]->count; p++) {
    const int64_t wanted = 2 * p, other = 2 * p + 1;
    dscores[wanted] = dscores[other] = 0;
    if (weights[p] == 0) continue;
    const double n = lengths ? floats_of(*lengths)[wanted] : 1, m = lengths ? floats_of(*lengths)[other] : 1,
                 margin = (double(scores[wanted]) - double(reference[wanted])) / n -
                          (double(scores[other]) - double(reference[other])) / m;
    const LossAndSlope of = of_margin(attrs.kind, margin, attrs.beta, attrs.label_smoothing);
    sum += weights[p] * of.loss;
    dscores[wanted] = float(weights[p] * of.slope / n);
    dscores[other] = float(-weights[p] * of.slope / m);
  }
  floats_of(*call.out[dpo_loss_out::loss])[0] = float(sum);
}

void kto_loss(Call& call) {
  const double beta = KtoLossAttrs::read(call.attrs).beta;
  const float *scores = floats_of(*call.in[kto_loss_in::scores]),
              *reference = floats_of(*call.in[kto_loss_in::reference]),
              *weights = floats_of(*call.in[kto_loss_in::weights]);
  const double baseline = floats_of(*call.in[kto_loss_in::baseline])[0];
  float* dscores = floats_of(*call.out[kto_loss_out::dscores]);
  double sum = 0;
  for (int64_t s = 0; s < call.in[kto_loss_in::weights]->count; s++) {
    const double weight = weights[s], sign = weight < 0 ? -1 : 1,
                 ratio = double(scores[s]) - double(reference[s]) - baseline,
                 wanted = sigmoid(sign * beta * ratio);
    // An entry without a sequence has weight 0, and its other values are undefined.
    if (weight != 0) sum += sign * weight * (1 - wanted);
    dscores[s] = weight == 0 ? 0 : float(-weight * beta * wanted * (1 - wanted));
  }
  floats_of(*call.out[kto_loss_out::loss])[0] = float(sum);
}

void orpo_loss(Call& call) {
  const double beta = OrpoLossAttrs::read(call.attrs).beta;
  const float *scores = floats_of(*call.in[orpo_loss_in::scores]),
              *lengths = floats_of(*call.in[orpo_loss_in::lengths]),
              *weights = floats_of(*call.in[orpo_loss_in::weights]),
              *likelihood = floats_of(*call.in[orpo_loss_in::likelihood]),
              *shares = floats_of(*call.in[orpo_loss_in::shares]);
  float *dscores = floats_of(*call.out[orpo_loss_out::dscores]),
        *dlikelihood = floats_of(*call.out[orpo_loss_out::dlikelihood]);
  double sum = 0;
  for (int64_t p = 0; p < call.in[orpo_loss_in::weights]->count; p++) {
    const int64_t wanted = 2 * p, other = 2 * p + 1;
    sum -= double(shares[p]) * double(likelihood[p]);
    dlikelihood[p] = -shares[p];
    dscores[wanted] = dscores[other] = 0;
    if (weights[p] == 0) continue;
    const double a = double(scores[wanted]) / lengths[wanted], b = double(scores[other]) / lengths[other],
                 odds = a - b - log_rest(a) + log_rest(b), slope = -weights[p] * beta * sigmoid(-odds);
    sum -= weights[p] * beta * log_sigmoid(odds);
    dscores[wanted] = float(slope / -std::expm1(a) / lengths[wanted]);
    dscores[other] = float(-slope / -std::expm1(b) / lengths[other]);
  }
  floats_of(*call.out[orpo_loss_out::loss])[0] = float(sum);
}

}  // namespace cairn::CAIRN_ISA
