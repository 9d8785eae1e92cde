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

// Shared memory as instructions address it.
__device__ inline uint32_t shared_address(const void* at) { return uint32_t(__cvta_generic_to_shared(at)); }

// 16 bytes on their way to shared memory; zeros where `is_there` is not, and nothing is read. They are there
// for the thread that asked after await_copies, and for others after a barrier that follows.
__device__ inline void copy_async(uint32_t to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_there ? 16 : 0)
               : "memory");
}
// Copies since the last call become a group.
__device__ inline void group_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `pending` groups are on their way.
template <int pending>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Four matrices of 8×8 numbers of 16 bits. Lane l gives the address of row l mod 8 of matrix l / 8, and gets
// numbers 2·(l mod 4) and the next of row l / 4 of each.
__device__ inline void load_matrices(uint32_t at, uint32_t (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
// The same of the transposed matrices.
__device__ inline void load_transposed(uint32_t at, uint32_t (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}

// sums (16, 8) += a (16, 16) · b (16, 8) of bf16. With g = lane / 4 and t = lane mod 4: a has (g, 2t), (g + 8,
// 2t), (g, 2t + 8), (g + 8, 2t + 8) and their right neighbours, b has (2t, g), (2t + 8, g) and the ones
// below, sums has (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
__device__ inline void multiply_add(
    float (&sums)[4], const uint32_t (&a)[4], uint32_t b_upper, uint32_t b_lower) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
               "{%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));
}

// Two numbers to nearest bf16, ties to even; the first in the lower half.
__device__ inline uint32_t pack_bf16(float first, float second) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}

// 2 to the x, off by 2 units in the last place.
__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The halves of a word as f16, widened.
__device__ inline float half_low(uint32_t pair) {
  float value;
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(value) : "r"(pair));
  return value;
}
__device__ inline float half_high(uint32_t pair) {
  float value;
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, high;}" : "=f"(value) : "r"(pair));
  return value;
}

}  // namespace cairn::cuda
