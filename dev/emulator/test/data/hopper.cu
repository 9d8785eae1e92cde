// Kernels for sm_90a, which the tests compile where nvcc exists.
#include <cooperative_groups.h>
#include <cuda_bf16.h>

#include <cstdint>

__device__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

// A matrix of rows of 32 bytes without a swizzle: groups of eight rows of 16 bytes, first all first halves.
__device__ uint64_t matrix_of(uint32_t at, int rows) {
  return uint64_t(at >> 4 & 0x3fff) | uint64_t(rows) << 16 | uint64_t(8) << 32;
}
__device__ int place(int row, int byte, int rows) { return byte / 16 * rows * 16 + row * 16 + byte % 16; }

__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void finish() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// Sums over the blocks of a cluster, through each other's shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64)
    cluster_sums(const float* in, float* out) {
  __shared__ float values[64];
  auto cluster = cooperative_groups::this_cluster();
  values[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  cluster.sync();
  float sum = 0;
  for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank)
    sum += cluster.map_shared_rank(values, rank)[threadIdx.x];
#ifndef WITHOUT_LAST_SYNC
  cluster.sync();
#endif
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}

// C (64, 16) = A (64, K) · B (16, K) of e4m3, by a warpgroup that takes registers from another one.
extern "C" __global__ void __launch_bounds__(256, 2) fp8_product(
    const uint8_t* a, const uint8_t* b, float* c, int K) {
  __shared__ alignas(128) uint8_t left[64 * 32], right[16 * 32];
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  float sums[8];
  for (int k = 0; k < K; k += 32) {
    for (int at = threadIdx.x; at < 64 * 32; at += 128)
      left[place(at / 32, at % 32, 64)] = a[at / 32 * K + k + at % 32];
    for (int at = threadIdx.x; at < 16 * 32; at += 128)
      right[place(at / 32, at % 32, 16)] = b[at / 32 * K + k + at % 32];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, 128;" ::: "memory");
    begin();
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 {%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, p, 1, 1; }"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
        "+f"(sums[6]), "+f"(sums[7])
        : "l"(matrix_of(shared_address(left), 64)), "l"(matrix_of(shared_address(right), 16)), "r"(k));
    finish();
    asm volatile("bar.sync 1, 128;" ::: "memory");
  }
  int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int r = 0; r < 8; ++r) c[(row + r / 2 % 2 * 8) * 16 + column + r / 4 * 8 + r % 2] = sums[r];
}

// C (64, 8) = A · B · B for A (64, 16) and B (8, 16) whose last 8 columns are zeros: the first product is
// rounded to bf16 and stays in registers as the left operand of the second.
extern "C" __global__ void __launch_bounds__(128) chained(
    const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  __shared__ alignas(128) __nv_bfloat16 left[64 * 16], right[8 * 16];
  for (int at = threadIdx.x; at < 64 * 16; at += 128) left[place(at / 16, at % 16 * 2, 64) / 2] = a[at];
  right[place(threadIdx.x / 16, threadIdx.x % 16 * 2, 8) / 2] = b[threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float sums[4] = {}, result[4] = {};
  begin();
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "l"(matrix_of(shared_address(left), 64)), "l"(matrix_of(shared_address(right), 8)));
  finish();
  uint32_t codes[4] = {};
  for (int half = 0; half < 2; ++half) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(sums[half * 2], sums[half * 2 + 1]);
    codes[half] = reinterpret_cast<uint32_t&>(pair);
  }
  begin();
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1, 0;"
      : "+f"(result[0]), "+f"(result[1]), "+f"(result[2]), "+f"(result[3])
      : "r"(codes[0]), "r"(codes[1]), "r"(codes[2]), "r"(codes[3]),
      "l"(matrix_of(shared_address(right), 8)));
#ifdef EARLY
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
  finish();
#endif
  int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int r = 0; r < 4; ++r) c[(row + r / 2 * 8) * 8 + column + r % 2] = result[r];
}
