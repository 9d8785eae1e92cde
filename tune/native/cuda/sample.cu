// Samples the next token of each row of logits, and computes the requested log-probabilities: one block per
// row, so rows do not depend on each other.
//
// The tokens to keep are those above a minimum probability, found by bisecting the range of floats: one pass
// over the row per bit, without sorting. Sums are in double, in an order that depends on the vocabulary
// alone.
#include "sample.h"

#include "floats.h"
#include "philox.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

constexpr int kThreads = 1024, kWarps = kThreads / kWarp;

// Space that reductions over the block share.
struct Space {
  double sums[kWarps];
  uint64_t ranks[kWarps];
  double shares[kThreads];
  int64_t token;
};

// Orders tokens by their logits, and equal ones by their numbers, the lower first. NaN comes last.
__device__ inline uint64_t rank_of(float logit, int64_t token) {
  uint32_t bits = 0;
  if (logit == logit) {
    bits = bits_of(logit == 0 ? 0 : logit);
    bits = bits >> 31 ? ~bits : bits | 0x80000000;
  }
  return uint64_t(bits) << 32 | (0xffffffff - uint32_t(token));
}
__device__ inline int64_t token_of(uint64_t rank) { return 0xffffffff - uint32_t(rank); }

__device__ inline uint64_t block_largest(uint64_t value, uint64_t* space) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const uint64_t other = __shfl_xor_sync(kAllLanes, value, step);
    value = other > value ? other : value;
  }
  if (threadIdx.x % kWarp == 0) space[threadIdx.x / kWarp] = value;
  __syncthreads();
  for (int i = 0; i < kWarps; i++) value = space[i] > value ? space[i] : value;
  __syncthreads();
  return value;
}

// The best token below a rank.
__device__ inline uint64_t best_below(const float* logits, int64_t n, uint64_t limit, Space& space) {
  uint64_t best = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const uint64_t rank = rank_of(logits[i], i);
    if (rank < limit && rank > best) best = rank;
  }
  return block_largest(best, space.ranks);
}

// The sum of body(p) over all p of a row.
template <class Body>
__device__ inline double sum_row(const float* p, int64_t n, Space& space, Body body) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += body(p[i]);
  return block_sum(sum, space.sums);
}

// The highest minimum of p for which the sum of body(p) above it is still enough. Floats of one sign are
// ordered like their bits.
template <class Body>
__device__ inline float highest_floor(const float* p, int64_t n, Space& space, double enough, Body body) {
  uint32_t low = 0, high = bits_of(1.0f) + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const float floor = float_of(middle);
    const double sum = sum_row(p, n, space, [&](float v) { return v >= floor ? body(v) : 0.0; });
    if (sum >= enough) low = middle;
    else high = middle;
  }
  return float_of(low);
}

// The token at `uniform` of the sum of all p of at least `floor`, in order of tokens. Each thread adds up
// neighbouring tokens, then one thread looks for the token in the part where it must be.
__device__ inline int64_t token_at(const float* p, int64_t n, float floor, float uniform, Space& space) {
  const int64_t each = (n + kThreads - 1) / kThreads, first = threadIdx.x * each,
                last = first + each < n ? first + each : n;
  double share = 0;
  for (int64_t i = first; i < last; i++)
    if (p[i] >= floor) share += double(p[i]);
  space.shares[threadIdx.x] = share;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0, sum = 0;
    for (int i = 0; i < kThreads; i++) total += space.shares[i];
    const double target = double(uniform) * total;
    int part = 0;
    while (part + 1 < kThreads && sum + space.shares[part] <= target) sum += space.shares[part++];
    int64_t token = 0;
    for (int64_t i = part * each; i < n; i++) {
      if (p[i] < floor || p[i] == 0) continue;
      token = i;
      sum += double(p[i]);
      if (sum > target) break;
    }
    space.token = token;
  }
  __syncthreads();
  return space.token;
}

// Logits of a row after its edits and its mask. Each thread keeps to its own tokens, so that the edits of a
// token are in order. False if the mask allows no token.
__device__ inline bool edit_row(const Sample& p, int64_t row, Space& space, float* to) {
  const float* raw = p.logits + row * p.vocab;
  for (int64_t i = threadIdx.x; i < p.vocab; i += kThreads) to[i] = raw[i];
  for (int64_t e = 0; e < p.edit_count; e++) {
    const int32_t token = p.edits[e * 2 + 1];
    if (p.edits[e * 2] != row || token % kThreads != int(threadIdx.x)) continue;
    const float logit = to[token], factor = p.edit_by[e * 2];
    to[token] = (logit > 0 ? logit / factor : logit * factor) + p.edit_by[e * 2 + 1];
  }
  const int32_t which = p.masked[row];
  if (which < 0) return true;
  double allowed = 0;
  for (int64_t i = threadIdx.x; i < p.vocab; i += kThreads) {
    const bool is_open = uint32_t(p.mask[which * p.mask_words + i / 32]) >> i % 32 & 1;
    if (is_open) allowed += 1;
    else to[i] = -INFINITY;
  }
  return block_sum(allowed, space.sums) > 0;
}

__device__ inline int64_t draw_token(const Sample& p, int64_t row, const float* logits, Space& space) {
  const int64_t n = p.vocab;
  const uint64_t best = best_below(logits, n, ~uint64_t(0), space);
  const float temperature = p.choice[row * 3], top_p = p.choice[row * 3 + 1], min_p = p.choice[row * 3 + 2];
  if (!(temperature > 0)) return token_of(best);
  const int32_t* words = p.draw + row * 4;
  const Words4 random = philox({{uint32_t(words[3]), 0, 0, 0}}, uint32_t(words[1]), uint32_t(words[2]));
  float* const chances = p.probabilities + row * n;
  const float maximum = logits[token_of(best)];
  for (int64_t i = threadIdx.x; i < n; i += kThreads) chances[i] = expf((logits[i] - maximum) / temperature);
  float floor = min_p > 0 ? min_p : 0;
  const auto one = [](float) { return 1.0; };
  const auto mass = [](float v) { return double(v); };
  if (words[0] > 0 && words[0] < n)
    floor = fmaxf(floor, highest_floor(chances, n, space, double(words[0]), one));
  if (top_p < 1) {
    const double whole = sum_row(chances, n, space, [&](float v) { return v >= floor ? double(v) : 0.0; });
    floor = fmaxf(floor, highest_floor(chances, n, space, double(top_p) * whole, mass));
  }
  __syncthreads();
  return token_at(chances, n, floor, float(random.word[0] >> 8) * 0x1p-24f, space);
}

// Code of what is wrong with the inputs of a row, or 0.
__device__ inline int find_fault(const Sample& p, int64_t row, Space& space) {
  if (p.forced[row] < -1 || p.forced[row] >= p.vocab) return p.wrong_forced;
  if (p.masked[row] < -1 || p.masked[row] >= p.mask_count) return p.wrong_mask;
  double wrong = 0;
  for (int64_t e = threadIdx.x; e < p.edit_count; e += kThreads)
    if (p.edits[e * 2] == row && (p.edits[e * 2 + 1] < 0 || p.edits[e * 2 + 1] >= p.vocab)) wrong = 1;
  return block_sum(wrong, space.sums) > 0 ? p.wrong_edit : 0;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) sample(const __grid_constant__ Sample p) {
  __shared__ Space space;
  const int64_t row = blockIdx.x, n = p.vocab;
  const float* raw = p.logits + row * n;
  uint64_t best = best_below(raw, n, ~uint64_t(0), space);
  const float maximum = raw[token_of(best)];
  const double total =
      double(maximum) + log(sum_row(raw, n, space, [&](float v) { return double(expf(v - maximum)); }));
  for (int i = 0; i < p.top; i++) {
    if (i > 0) best = best_below(raw, n, best, space);
    if (threadIdx.x > 0) continue;
    p.top_tokens[row * p.top + i] = int32_t(token_of(best));
    p.top_logprobs[row * p.top + i] = float(double(raw[token_of(best)]) - total);
  }
  int fault = find_fault(p, row, space);
  int64_t token = fault == 0 ? p.forced[row] : 0;
  if (token < 0) {
    float* edited = p.edited + row * n;
    if (!edit_row(p, row, space, edited)) fault = p.empty_mask;
    __syncthreads();
    token = draw_token(p, row, edited, space);
  }
  if (threadIdx.x > 0) return;
  if (fault != 0) report(p.fault, fault);
  p.token[row] = int32_t(token);
  p.logprob[row] = float(double(raw[token]) - total);
}
