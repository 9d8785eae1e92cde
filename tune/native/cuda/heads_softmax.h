// The online softmax of attention on tensor cores: 64 keys at a time, for the two rows of a thread whose
// scores have the layout of sums.
#pragma once
#include "floats.h"
#include "heads_tiles.h"

namespace cairn::cuda {

// `maximum` is an exponent of 2, `total` is this thread's share of the sum of weights. Sums of earlier keys
// must be multiplied by `shrink` after each call of `weigh`.
struct OnlineSoftmax {
  float maximum[2], total[2], shrink[2];

  // A sink is an initial score without a value.
  __device__ OnlineSoftmax(const Attention& p, int head) {
    const float sink = p.sinks ? load_float(p.sinks, p.sinks_dtype, head) * kLog2E : -INFINITY;
    maximum[0] = maximum[1] = sink;
    total[0] = total[1] = p.sinks && threadIdx.x % 4 == 0 ? 1.0f : 0.0f;
  }

  // Turns scores into (unnormalised) weights and adds them to the total. `scale` is positive, so the largest
  // scaled score is the largest score, scaled.
  __device__ void weigh(float (&z)[kHeadRows / 8][4], float scale) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float largest = -INFINITY;
#pragma unroll
      for (int j = 0; j < kHeadRows / 8; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) largest = fmaxf(largest, z[j][half * 2 + c]);
      float new_maximum = fmaxf(maximum[half], largest * scale);
      new_maximum = fmaxf(new_maximum, __shfl_xor_sync(kAllLanes, new_maximum, 1));
      new_maximum = fmaxf(new_maximum, __shfl_xor_sync(kAllLanes, new_maximum, 2));
      // A row that has not seen a key yet has no largest score.
      const float base = new_maximum == -INFINITY ? 0.0f : new_maximum;
      shrink[half] = exp2_fast(maximum[half] - base);
      maximum[half] = new_maximum;
      total[half] *= shrink[half];
#pragma unroll
      for (int j = 0; j < kHeadRows / 8; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
          const float weight = exp2_fast(fmaf(z[j][half * 2 + c], scale, -base));
          z[j][half * 2 + c] = weight;
          total[half] += weight;
        }
    }
  }

  // Adds up the totals of the threads of a row and writes its lse. `row` is the first row of this thread.
  __device__ void finish(const Attention& p, int head, int row, int end) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      total[half] += __shfl_xor_sync(kAllLanes, total[half], 1);
      total[half] += __shfl_xor_sync(kAllLanes, total[half], 2);
      const int query = row + half * 8;
      if (threadIdx.x % 4 == 0 && query < end)
        p.lse[int64_t(head) * p.tokens + query] = maximum[half] * kLn2 + logf(total[half]);
    }
  }
};

// Excludes keys that queries do not see. `query` is the first row of this thread, `key` that of the scores.
__device__ inline void mask_scores(float (&z)[kHeadRows / 8][4], int query, int key, int window) {
  const int column = int(threadIdx.x) % 4 * 2;
  const unsigned span = span_of(window);
#pragma unroll
  for (int j = 0; j < kHeadRows / 8; j++)
#pragma unroll
    for (int c = 0; c < 4; c++)
      if (!is_in_span(query + c / 2 * 8, key + j * 8 + column + c % 2, span)) z[j][c] = -INFINITY;
}

}  // namespace cairn::cuda
