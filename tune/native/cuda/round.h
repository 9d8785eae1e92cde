// Rounds a left operand to the grid of a small format, sixteen neighbours of a row at a time. Bit-identical
// to cpu/round.h, which explains why numbers on these grids are exact in bf16.
#pragma once
#include "codecs.h"
#include "matmul.h"
#include "philox.h"

namespace cairn::cuda {

__device__ inline float with_sign(float size, float of) {
  return float_of((bits_of(size) & 0x7fffffff) | (bits_of(of) & 0x80000000));
}

// To nearest, ties to even, saturating: keeps `mantissa` bits of numbers from 2^min_exponent on; below that,
// multiples of 2^(min_exponent - mantissa).
template <int mantissa, int min_exponent>
__device__ inline float round_nearest(float v, float max_value) {
  constexpr int drop = 23 - mantissa;
  const float magnitude = float_of(bits_of(v) & 0x7fffffff),
              size = magnitude < max_value ? magnitude : max_value;
  const uint32_t bits = bits_of(size);
  const float normal =
      float_of((bits + ((1u << (drop - 1)) - 1) + ((bits >> drop) & 1)) & ~((1u << drop) - 1));
  // Adding and subtracting 1.5 · 2^23 units rounds to whole units.
  const float magic = 1.5f * power_of_two(23 + min_exponent - mantissa), below = (size + magic) - magic;
  return with_sign(size < power_of_two(min_exponent) ? below : normal, v);
}

__device__ inline float round_e4m3(float v) { return round_nearest<3, -6>(v, 448); }
__device__ inline float round_e5m2(float v) { return round_nearest<2, -14>(v, 57344); }
__device__ inline float round_e2m1(float v) { return round_nearest<1, 0>(v, 6); }

// Rounds up if the uniform number is below the fraction between two neighbours.
__device__ inline float round_e2m1_stochastic(float v, float uniform) {
  const float magnitude = float_of(bits_of(v) & 0x7fffffff), size = magnitude < 8 ? magnitude : 8;
  const uint32_t power = bits_of(size > 1 ? size : 1) & 0x7f800000;
  const float rung = size * float_of(0x7f000000 - power) * 2.0f, whole = float(int(rung)),
              rounded = (whole + (uniform < rung - whole ? 1.0f : 0.0f)) * float_of(power) * 0.5f;
  return with_sign(rounded < 6 ? rounded : 6, v);
}

// The factor before rounding, as in rounding_of of cpu/linear_rounding.h.
__device__ inline float encode_factor(Grid grid, float a_amax) {
  const bool is_nvfp4 = grid == Grid::nvfp4 || grid == Grid::nvfp4_stochastic;
  const float max_value = is_nvfp4             ? 448.0f * 6.0f
                          : grid == Grid::e5m2 ? 57344.0f
                                               : 448.0f,
              min_amax = is_nvfp4 ? 1e-30f : 1e-10f;
  return max_value / (a_amax > min_amax ? a_amax : min_amax);
}

struct RandomKey {
  uint32_t seed[2], step, stream;
};

// Uniform numbers in [0, 1) of elements first … first + 15 of the tensor.
__device__ inline void draw(const RandomKey& key, int64_t first, float (&to)[16]) {
  Words4 words{};
  int64_t drawn = -1;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const int64_t group = (first + i) >> 2;
    if (group != drawn) {
      words = philox({{uint32_t(group), uint32_t(uint64_t(group) >> 32), key.stream, key.step}}, key.seed[0],
          key.seed[1]);
      drawn = group;
    }
    const int at = int((first + i) & 3);
    const uint32_t word = at < 2 ? (at == 0 ? words.word[0] : words.word[1])
                                 : (at == 2 ? words.word[2] : words.word[3]);
    to[i] = float(word >> 8) * power_of_two(-24);
  }
}

// Factors of a block's numbers before and after rounding to E2M1. Those past the end of a row are zero.
struct BlockFactors {
  float before, scale;
};

__device__ inline BlockFactors block_factors(float encode, const float (&values)[16]) {
  float amax = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const float size = float_of(bits_of(values[i]) & 0x7fffffff);
    amax = amax > size ? amax : size;
  }
  const float min_scale = 0.001953125f, wanted = amax / 6.0f * encode,
              scale = round_e4m3(wanted > min_scale ? wanted : min_scale);
  return {encode / scale, scale};
}

// Rounds sixteen numbers of a row that start a block. Those past its end are zero.
__device__ inline void round_run(
    Grid grid, float encode, const RandomKey& key, int64_t first, float (&values)[16]) {
  if (grid == Grid::e4m3 || grid == Grid::e5m2) {
#pragma unroll
    for (int i = 0; i < 16; i++)
      values[i] = grid == Grid::e4m3 ? round_e4m3(values[i] * encode) : round_e5m2(values[i] * encode);
    return;
  }
  const BlockFactors block = block_factors(encode, values);
  if (grid == Grid::nvfp4) {
#pragma unroll
    for (int i = 0; i < 16; i++) values[i] = round_e2m1(values[i] * block.before) * block.scale;
    return;
  }
  float uniform[16];
  draw(key, first, uniform);
#pragma unroll
  for (int i = 0; i < 16; i++)
    values[i] = round_e2m1_stochastic(values[i] * block.before, uniform[i]) * block.scale;
}

}  // namespace cairn::cuda
