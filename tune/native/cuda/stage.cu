// Converts operands that a product cannot read directly: other dtypes, rows without 16-byte alignment, left
// sides that are rounded to a small format. They become bf16 or f32 in scratch. Up to four matrices per
// launch; a thread takes sixteen neighbours of a row.
#include "stage.h"

#include "floats.h"
#include "round.h"
#include "warp.h"

using namespace cairn;
using namespace cairn::cuda;

namespace {

__device__ const float kNoScale = 1;

// Columns [column, column + 16) of a row, zeros past its end.
__device__ inline void read_run(const Stored& s, int64_t row, int64_t column, float (&to)[16]) {
  const int64_t at = row * s.columns + column;
  if (s.dtype == Dtype::bf16 && s.columns % 8 == 0 && column + 16 <= s.columns &&
      reinterpret_cast<uintptr_t>(s.part[0]) % 16 == 0) {
    const uint4* from = reinterpret_cast<const uint4*>(static_cast<const uint16_t*>(s.part[0]) + at);
    const uint4 low = from[0], high = from[1];
    const uint32_t words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < 16; i++)
      to[i] = float_of(i % 2 ? words[i / 2] & 0xffff0000 : words[i / 2] << 16);
    return;
  }
#pragma unroll
  for (int i = 0; i < 16; i++) to[i] = column + i < s.columns ? decode_at(s, row, column + i) : 0.0f;
}

__device__ inline void stage_run(const StagedMatrix& m, int64_t run) {
  const int64_t runs_of_row = m.stride / 16, row = run / runs_of_row, column = run % runs_of_row * 16;
  Stored from = m.from;
  const int64_t matrix = row / m.rows_of_matrix;
  for (int i = 0; i < 5; i++) from.part[i] = static_cast<const char*>(from.part[i]) + matrix * m.next;
  if (m.without_tensor_scale) from.part[from.dtype == Dtype::nvfp4 ? 2 : 1] = &kNoScale;
  float values[16];
  read_run(from, row % m.rows_of_matrix, column, values);
  if (m.grid != Grid::none) {
    RandomKey key{};
    if (m.grid == Grid::nvfp4_stochastic)
      key = {{uint32_t(m.random[0]), uint32_t(m.random[1])}, uint32_t(m.random[2]), uint32_t(m.stream)};
    round_run(m.grid, encode_factor(m.grid, *m.a_amax), key, row * m.from.columns + column, values);
#pragma unroll
    for (int i = 0; i < 16; i++)
      if (column + i >= m.from.columns) values[i] = 0;
  }
  const int64_t at = row * m.stride + column;
  if (m.is_f32) {
    float4* to = reinterpret_cast<float4*>(static_cast<float*>(m.to) + at);
#pragma unroll
    for (int i = 0; i < 4; i++)
      to[i] = make_float4(values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]);
    return;
  }
  uint32_t words[8];
#pragma unroll
  for (int i = 0; i < 8; i++) words[i] = pack_bf16(values[2 * i], values[2 * i + 1]);
  uint4* to = reinterpret_cast<uint4*>(static_cast<uint16_t*>(m.to) + at);
  to[0] = make_uint4(words[0], words[1], words[2], words[3]);
  to[1] = make_uint4(words[4], words[5], words[6], words[7]);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) stage(const __grid_constant__ Stage p) {
  for (int64_t i = first_of_thread(); i < p.runs[p.count - 1]; i += threads_of_grid()) {
    int64_t first = 0;
#pragma unroll
    for (int j = 0; j < kMaxStaged; j++) {
      if (j < p.count && i >= first && i < p.runs[j]) stage_run(p.matrix[j], i - first);
      if (j < p.count) first = p.runs[j];
    }
  }
}
