// Elements of float tensors, which are f32 or bf16.
#pragma once
#include <cstdint>

#include "codecs.h"
#include "ops.h"

namespace cairn::cuda {

__device__ inline float load_float(const void* data, Dtype dtype, int64_t at) {
  return dtype == Dtype::f32 ? static_cast<const float*>(data)[at]
                             : decode_bf16(static_cast<const uint16_t*>(data)[at]);
}

__device__ inline void store_float(void* data, Dtype dtype, int64_t at, float value) {
  if (dtype == Dtype::f32) static_cast<float*>(data)[at] = value;
  else static_cast<uint16_t*>(data)[at] = encode_bf16(value);
}

// Eight elements at once, from an index that is a multiple of 8 in 16-byte-aligned memory.
constexpr int kPack = 8;

__device__ inline void load_pack(const void* data, Dtype dtype, int64_t at, float (&out)[kPack]) {
  if (dtype == Dtype::f32) {
    const float4* from = reinterpret_cast<const float4*>(static_cast<const float*>(data) + at);
    const float4 low = from[0], high = from[1];
    out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
    out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
    return;
  }
  const uint4 words = *reinterpret_cast<const uint4*>(static_cast<const uint16_t*>(data) + at);
  const uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
  for (int i = 0; i < 4; i++) {
    out[2 * i] = float_of(pairs[i] << 16);
    out[2 * i + 1] = float_of(pairs[i] & 0xffff0000);
  }
}

__device__ inline void store_pack(void* data, Dtype dtype, int64_t at, const float (&values)[kPack]) {
  if (dtype == Dtype::f32) {
    float4* to = reinterpret_cast<float4*>(static_cast<float*>(data) + at);
    to[0] = make_float4(values[0], values[1], values[2], values[3]);
    to[1] = make_float4(values[4], values[5], values[6], values[7]);
    return;
  }
  uint32_t pairs[4];
  for (int i = 0; i < 4; i++)
    pairs[i] = uint32_t(encode_bf16(values[2 * i])) | uint32_t(encode_bf16(values[2 * i + 1])) << 16;
  *reinterpret_cast<uint4*>(static_cast<uint16_t*>(data) + at) =
      make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

// A pack of elements, or one. Returns their number.
__device__ inline int load_some(
    const void* data, Dtype dtype, int64_t at, bool is_pack, float (&out)[kPack]) {
  if (is_pack) load_pack(data, dtype, at, out);
  else out[0] = load_float(data, dtype, at);
  return is_pack ? kPack : 1;
}
__device__ inline void store_some(
    void* data, Dtype dtype, int64_t at, bool is_pack, const float (&values)[kPack]) {
  if (is_pack) store_pack(data, dtype, at, values);
  else store_float(data, dtype, at, values[0]);
}

// The first element of this thread, and the stride to its next, if threads take elements in turn.
__device__ inline int64_t first_of_thread() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64_t threads_of_grid() { return int64_t(gridDim.x) * blockDim.x; }

}  // namespace cairn::cuda
