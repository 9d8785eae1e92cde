// What the lanes of a warp and the threads of a block do together, and every PTX instruction in use, once.
#pragma once
#include <cstdint>

namespace cairn::cuda {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// Sums in an order that depends on nothing but the number of lanes; every lane gets the sum.
template <class T>
__device__ inline T warp_sum(T value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

__device__ inline float warp_max(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

// Sums over a block of whole warps; every thread gets the sum. `space` has one T a warp and one more, and is
// free again when the call returns.
template <class T>
__device__ inline T block_sum(T value, T* space) {
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp, warps = int(blockDim.x) / kWarp;
  value = warp_sum(value);
  if (lane == 0) space[warp] = value;
  __syncthreads();
  T sum = 0;
  for (int i = 0; i < warps; i++) sum += space[i];
  __syncthreads();
  return sum;
}

__device__ inline float block_max(float value, float* space) {
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp, warps = int(blockDim.x) / kWarp;
  value = warp_max(value);
  if (lane == 0) space[warp] = value;
  __syncthreads();
  float most = space[0];
  for (int i = 1; i < warps; i++) most = fmaxf(most, space[i]);
  __syncthreads();
  return most;
}

// What is wrong with the data that a kernel was given. The first report stays.
__device__ inline void report(int32_t* fault, int code) { atomicCAS(fault, 0, code); }

}  // namespace cairn::cuda
