// Samples the next token of each row of logits, and computes the requested log-probabilities.
//
// The tokens to keep are those above a minimum probability, found by bisecting the range of floats: one pass
// of compares per bit, without sorting.
#include <stdexcept>

#include "access.h"
#include "kernels.h"
#include "philox.h"

namespace cairn::CAIRN_ISA {

namespace {

inline float largest(const float* values, int64_t n) {
  vf maximum = splat(-__builtin_inff());
  int64_t i = 0;
  for (; i + VL <= n; i += VL) maximum = max(maximum, load(values + i));
  float result = max_lanes(maximum);
  for (; i < n; i++) result = values[i] > result ? values[i] : result;
  return result;
}

// The lowest token among those with the largest number. 0 if all are NaN.
inline int64_t argmax(const float* values, int64_t n) {
  const float maximum = largest(values, n);
  for (int64_t i = 0; i < n; i++)
    if (values[i] == maximum) return i;
  return 0;
}

inline double log_sum_exp(const float* values, int64_t n) {
  const float maximum = largest(values, n);
  double sum = 0;
  int64_t i = 0;
  // Summed in f64 a stretch at a time, because a vocabulary is too long for one f32 sum.
  while (i + VL <= n) {
    vf part{};
    const int64_t end = min64(n, i + 64 * VL);
    for (; i + VL <= end; i += VL) part += exp(load(values + i) - maximum);
    sum += sum_lanes(part);
  }
  for (; i < n; i++) sum += exp(splat(values[i] - maximum))[0];
  return double(maximum) + __builtin_log(sum);
}

// The `k` largest, in order. Of equals the lower token comes first.
inline void list_top(const float* values, int64_t n, int64_t k, int32_t* tokens, float* best) {
  int64_t held = 0;
  for (int64_t i = 0; i < n; i++) {
    if (held == k && !(values[i] > best[k - 1])) continue;
    int64_t place = held < k ? held++ : k - 1;
    for (; place > 0 && values[i] > best[place - 1]; place--)
      best[place] = best[place - 1], tokens[place] = tokens[place - 1];
    best[place] = values[i];
    tokens[place] = int32_t(i);
  }
}

// Copies logits whose bits are set, and -inf for the others, in one pass. `out` may be `logits`. False if no
// bit is set.
inline bool copy_allowed(const float* logits, int64_t n, const int32_t* mask, float* out) {
  vu lane;
  for (int i = 0; i < VL; i++) lane[i] = uint32_t(i);
  const vf never = splat(-__builtin_inff());
  uint32_t any = 0;
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const uint32_t word = uint32_t(mask[i / 32]);
    any |= word;
    for (int64_t j = 0; j < 32; j += VL) {
      const vu is_open = ((vu{} + word) >> (lane + uint32_t(j))) & 1;
      store(out + i + j, is_open != 0 ? load(logits + i + j) : never);
    }
  }
  for (; i < n; i++) {
    const uint32_t bit = uint32_t(mask[i / 32]) >> i % 32 & 1;
    any |= bit;
    out[i] = bit ? logits[i] : -__builtin_inff();
  }
  return any != 0;
}

struct Mass {
  int64_t count;
  double sum;
};

inline Mass mass_above(const float* p, int64_t n, float floor) {
  Mass mass{0, 0};
  int64_t i = 0;
  while (i + VL <= n) {
    vf sum{};
    vi count{};
    const int64_t end = min64(n, i + 64 * VL);
    for (; i + VL <= end; i += VL) {
      const vf v = load(p + i);
      const vi kept = v >= floor;
      sum += (vf)((vi)v & kept);
      count -= kept;
    }
    mass.sum += sum_lanes(sum);
    for (int lane = 0; lane < VL; lane++) mass.count += count[lane];
  }
  for (; i < n; i++)
    if (p[i] >= floor) mass.count++, mass.sum += p[i];
  return mass;
}

// The highest minimum that still satisfies `enough`. Floats of one sign are ordered like their bits.
template <class Enough>
inline float highest_floor(const float* p, int64_t n, Enough enough) {
  uint32_t low = 0, high = bits_of(1.0f) + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (enough(mass_above(p, n, float_of(middle)))) low = middle;
    else high = middle;
  }
  return float_of(low);
}

inline int64_t draw(const float* logits, int64_t n, float temperature, float top_p, float min_p,
    int64_t top_k, float uniform, float* p) {
  const float maximum = largest(logits, n);
  int64_t i = 0;
  for (; i + VL <= n; i += VL) store(p + i, exp((load(logits + i) - maximum) / temperature));
  for (; i < n; i++) p[i] = exp(splat((logits[i] - maximum) / temperature))[0];
  float floor = min_p > 0 ? min_p : 0;
  if (top_k > 0 && top_k < n) {
    const float by_k = highest_floor(p, n, [&](Mass mass) { return mass.count >= top_k; });
    floor = by_k > floor ? by_k : floor;
  }
  if (top_p < 1) {
    const double wanted = double(top_p) * mass_above(p, n, floor).sum;
    const float by_p = highest_floor(p, n, [&](Mass mass) { return mass.sum >= wanted; });
    floor = by_p > floor ? by_p : floor;
  }
  double total = 0, sum = 0;
  for (int64_t j = 0; j < n; j++)
    if (p[j] >= floor) total += p[j];
  int64_t last = 0;
  for (int64_t j = 0; j < n; j++) {
    if (p[j] < floor || p[j] == 0) continue;
    last = j;
    sum += p[j];
    if (sum > double(uniform) * total) break;
  }
  return last;
}

}  // namespace

void sample(Call& call) {
  const Tensor &logits = *call.in[sample_in::logits], &edits = *call.in[sample_in::edits];
  const int32_t *forced = ints_of(*call.in[sample_in::forced]), *words = ints_of(*call.in[sample_in::draw]),
                *edit = ints_of(edits), *masked = ints_of(*call.in[sample_in::masked]),
                *masks = ints_of(*call.in[sample_in::mask]);
  const float *choice = floats_of(*call.in[sample_in::choice]), *by = floats_of(*call.in[sample_in::edit_by]);
  const int64_t rows = logits.dims[0], n = logits.dims[1], top = SampleAttrs::read(call.attrs).top,
                edit_count = edits.dims[0], mask_count = call.in[sample_in::mask]->dims[0],
                mask_words = call.in[sample_in::mask]->dims[1];
  int32_t *tokens = reinterpret_cast<int32_t*>(call.out[sample_out::token]->data),
          *top_tokens = reinterpret_cast<int32_t*>(call.out[sample_out::top_tokens]->data);
  float *logprobs = floats_of(*call.out[sample_out::logprob]),
        *top_logprobs = floats_of(*call.out[sample_out::top_logprobs]);
  if (top < 1 || top > n) throw std::runtime_error("top must be from 1 to the size of the vocabulary");
  for (int64_t i = 0; i < rows; i++)
    if (forced[i] < -1 || forced[i] >= n)
      throw std::runtime_error("a forced token lies outside the vocabulary");
  if (mask_words != ceil_div(n, 32)) throw std::runtime_error("a mask has a bit for each token");
  for (int64_t i = 0; i < rows; i++)
    if (masked[i] < -1 || masked[i] >= mask_count) throw std::runtime_error("there is no such mask");
  for (int64_t e = 0; e < edit_count; e++)
    if (edit[e * 2] >= 0 && (edit[e * 2 + 1] < 0 || edit[e * 2 + 1] >= n))
      throw std::runtime_error("an edited token lies outside the vocabulary");
  parallel(call, rows, [&](int64_t row, int thread) {
    const float* raw = floats_of(logits) + row * n;
    const double total = log_sum_exp(raw, n);
    list_top(raw, n, top, top_tokens + row * top, top_logprobs + row * top);
    for (int64_t i = 0; i < top; i++)
      top_logprobs[row * top + i] = float(double(top_logprobs[row * top + i]) - total);
    int64_t token = forced[row];
    if (token < 0) {
      float* scratch = static_cast<float*>(thread_scratch(call.scratch, thread, 0, size_t(2 * n) * 4));
      const float* changed = raw;
      for (int64_t e = 0; e < edit_count; e++) {
        if (edit[e * 2] != row) continue;
        if (changed == raw) std::memcpy(scratch, raw, size_t(n) * 4);
        changed = scratch;
        float& logit = scratch[edit[e * 2 + 1]];
        logit = (logit > 0 ? logit / by[e * 2] : logit * by[e * 2]) + by[e * 2 + 1];
      }
      if (masked[row] >= 0) {
        if (!copy_allowed(changed, n, masks + masked[row] * mask_words, scratch))
          throw std::runtime_error("a mask allows no token");
        changed = scratch;
      }
      const float temperature = choice[row * 3];
      const int32_t* w = words + row * 4;
      const Words4 random = philox({{uint32_t(w[3]), 0, 0, 0}}, uint32_t(w[1]), uint32_t(w[2]));
      const float uniform = float(random.word[0] >> 8) * 5.9604644775390625e-8f;
      token = temperature > 0 ? draw(changed, n, temperature, choice[row * 3 + 1], choice[row * 3 + 2], w[0],
                                    uniform, scratch + n)
                              : argmax(changed, n);
    }
    tokens[row] = int32_t(token);
    logprobs[row] = float(double(raw[token]) - total);
  });
}

void sample_scratch(const Call& call, ScratchSizes& sizes) {
  sizes.add_own(0, size_t(2 * call.in[sample_in::logits]->dims[1]) * 4);
}

}  // namespace cairn::CAIRN_ISA
