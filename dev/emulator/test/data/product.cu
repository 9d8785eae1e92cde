// A small product of matrices on tensor cores: C (M, N) = A (M, K) · B (N, K), all multiples of 64, 64, 32.
// Copies run two steps ahead, rows are swizzled so that ldmatrix meets no bank twice.
#include <cuda_bf16.h>
#include <cstdint>

constexpr int kM = 64, kN = 64, kK = 32, kStages = 3;

__device__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ void copy16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

// A row of 32 numbers is 64 bytes, 4 chunks; rows r and r + 1 share 128 bytes.
__device__ int place(int row, int chunk) { return row * 64 + (chunk ^ (row / 2 % 4)) * 16; }

extern "C" __global__ void __launch_bounds__(128)
    product(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int M, int N, int K) {
  __shared__ alignas(128) char tiles[kStages][(kM + kN) * 64];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int row0 = blockIdx.y * kM, col0 = blockIdx.x * kN;
  float sums[8][4] = {};
  auto load = [&](int step) {
    char* tile = tiles[step % kStages];
    for (int k = threadIdx.x; k < (kM + kN) * 4; k += blockDim.x) {
      int row = k / 4, chunk = k % 4;
      const __nv_bfloat16* from = row < kM ? a + size_t(row0 + row) * K : b + size_t(col0 + row - kM) * K;
      int at = step * kK + chunk * 8;
      if (at < K) copy16(shared_address(tile + place(row, chunk)), from + at);
    }
    asm volatile("cp.async.commit_group;");
  };
  int steps = K / kK;
  for (int s = 0; s < kStages - 1; ++s) load(s);
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();
    load(step + kStages - 1);
    const char* tile = tiles[step % kStages];
    for (int k16 = 0; k16 < 2; ++k16) {
      uint32_t fa[4];
      int row = warp * 16 + lane % 16;
      uint32_t at = shared_address(tile + place(row, k16 * 2 + lane / 16));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
          : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
          : "r"(at));
      for (int n = 0; n < 8; ++n) {
        uint32_t fb[2];
        int col = kM + n * 8 + lane % 8;
        uint32_t from = shared_address(tile + place(col, k16 * 2 + lane / 8 % 2));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
            : "=r"(fb[0]), "=r"(fb[1])
            : "r"(from));
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])
            : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
      }
    }
  }
  for (int n = 0; n < 8; ++n)
    for (int k = 0; k < 4; ++k) {
      int row = row0 + warp * 16 + lane / 4 + k / 2 * 8, col = col0 + n * 8 + lane % 4 * 2 + k % 2;
      if (row < M) c[size_t(row) * N + col] = sums[n][k];
    }
}
