// Sums over sequences and preference losses: a few numbers per sequence, in double precision as on the CPU.
// A loss is one block, so its sum has an order that depends on the number of pairs alone.
#include "preferences.h"

#include "floats.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kWarps = 8;

__device__ inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }
// Avoids the overflow of the exponential.
__device__ inline double log_sigmoid(double x) { return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x)); }
// log(1 − eˣ) for x below 0.
__device__ inline double log_rest(double x) {
  return x > -0.693147180559945 ? log(-expm1(x)) : log1p(-exp(x));
}

struct LossAndSlope {
  double loss, slope;
};

__device__ inline LossAndSlope of_margin(int kind, double margin, double beta, double smoothing) {
  const double scaled = beta * margin, gap = margin - 1 / (2 * beta);
  if (kind == 0)
    return {-(1 - smoothing) * log_sigmoid(scaled) - smoothing * log_sigmoid(-scaled),
        beta * (smoothing - 1 + sigmoid(scaled))};
  if (kind == 1) return {scaled < 1 ? 1 - scaled : 0, scaled < 1 ? -beta : 0};
  return {gap * gap, 2 * gap};
}

// The sum of body(i) over all entries, written to the loss.
template <class Body>
__device__ inline void sum_loss(const PreferenceLoss& p, Body body) {
  __shared__ double space[kWarps];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < p.count; i += blockDim.x) sum += body(i);
  sum = block_sum(sum, space);
  if (threadIdx.x == 0) *p.loss = float(sum);
}

// False reports a segment outside the sums; −1 is no segment.
__device__ inline bool check_segment(const Segments& p, int32_t segment) {
  const bool is_right = segment >= -1 && segment < p.count;
  if (!is_right) report(p.fault, p.fault_code);
  return is_right;
}

}  // namespace

// One block per segment.
extern "C" __global__ void segment_sums(const __grid_constant__ Segments p) {
  __shared__ double space[kWarps];
  double sum = 0;
  for (int64_t t = threadIdx.x; t < p.tokens; t += blockDim.x) {
    const int32_t segment = p.segments[t];
    if (check_segment(p, segment) && segment == int64_t(blockIdx.x)) sum += double(p.from[t]);
  }
  sum = block_sum(sum, space);
  if (threadIdx.x == 0) p.to[blockIdx.x] = float(sum);
}

extern "C" __global__ void segment_sums_grad(const __grid_constant__ Segments p) {
  const int64_t t = first_of_thread();
  if (t >= p.tokens) return;
  const int32_t segment = p.segments[t];
  p.to[t] = check_segment(p, segment) && segment >= 0 ? p.from[segment] : 0;
}

extern "C" __global__ void dpo_loss(const __grid_constant__ PreferenceLoss p) {
  sum_loss(p, [&](int64_t i) {
    const int64_t wanted = 2 * i, other = 2 * i + 1;
    const double weight = p.weights[i];
    // Other values of an entry without a pair are undefined.
    if (weight == 0) {
      p.dscores[wanted] = p.dscores[other] = 0;
      return 0.0;
    }
    const double n = p.lengths ? p.lengths[wanted] : 1, m = p.lengths ? p.lengths[other] : 1,
                 margin = (double(p.scores[wanted]) - double(p.reference[wanted])) / n -
                          (double(p.scores[other]) - double(p.reference[other])) / m;
    const LossAndSlope of = of_margin(p.kind, margin, p.beta, p.smoothing);
    p.dscores[wanted] = float(weight * of.slope / n);
    p.dscores[other] = float(-weight * of.slope / m);
    return weight * of.loss;
  });
}

extern "C" __global__ void kto_loss(const __grid_constant__ PreferenceLoss p) {
  const double beta = p.beta, baseline = *p.baseline;
  sum_loss(p, [&](int64_t i) {
    const double weight = p.weights[i], sign = weight < 0 ? -1 : 1,
                 ratio = double(p.scores[i]) - double(p.reference[i]) - baseline,
                 wanted = sigmoid(sign * beta * ratio);
    p.dscores[i] = weight == 0 ? 0 : float(-weight * beta * wanted * (1 - wanted));
    return weight == 0 ? 0.0 : sign * weight * (1 - wanted);
  });
}

extern "C" __global__ void orpo_loss(const __grid_constant__ PreferenceLoss p) {
  const double beta = p.beta;
  sum_loss(p, [&](int64_t i) {
    const int64_t wanted = 2 * i, other = 2 * i + 1;
    const double weight = p.weights[i], likelihood = -double(p.shares[i]) * double(p.likelihood[i]);
    p.dlikelihood[i] = -p.shares[i];
    if (weight == 0) {
      p.dscores[wanted] = p.dscores[other] = 0;
      return likelihood;
    }
    const double a = double(p.scores[wanted]) / double(p.lengths[wanted]),
                 b = double(p.scores[other]) / double(p.lengths[other]),
                 odds = a - b - log_rest(a) + log_rest(b), slope = -weight * beta * sigmoid(-odds);
    p.dscores[wanted] = float(slope / -expm1(a) / double(p.lengths[wanted]));
    p.dscores[other] = float(-slope / -expm1(b) / double(p.lengths[other]));
    return likelihood - weight * beta * log_sigmoid(odds);
  });
}
