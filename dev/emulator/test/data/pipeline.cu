// C (M, N) = A (M, K) · B (N, K) of bf16, all multiples of 64, with the asynchronous copies of sm_90: a warp
// loads tiles by tensor maps, four warps multiply them, and one thread stores their tile of the result.
#include <cstdint>

constexpr int kTile = 64, kStages = 2, kTileBytes = kTile * kTile * 2;

struct alignas(128) TensorMap {
  char bytes[128];
};

__device__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ void init(uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}
__device__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ void expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ void wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra WAIT;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ void load(uint32_t to, const TensorMap& map, int column, int row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}
__device__ void store(const TensorMap& map, int column, int row, uint32_t from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
      "r"(column), "r"(row), "r"(from)
      : "memory");
}

// Rows of 128 bytes with the swizzle of 128 bytes, eight of them in 1024 bytes.
__device__ uint64_t matrix_of(uint32_t at) {
  return uint64_t(at >> 4 & 0x3fff) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}

__device__ void multiply(float (&d)[8][4], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
        "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
        "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[4][0]), "+f"(d[4][1]),
        "+f"(d[4][2]), "+f"(d[4][3]), "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
        "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]), "+f"(d[7][0]), "+f"(d[7][1]),
        "+f"(d[7][2]), "+f"(d[7][3])
      : "l"(a), "l"(b));
}

__device__ uint32_t pack(float first, float second) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}

extern "C" __global__ void __launch_bounds__(160)
    pipeline(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
        const __grid_constant__ TensorMap c, int steps) {
  __shared__ alignas(1024) char tiles[kStages][2][kTileBytes];
  __shared__ alignas(1024) char result[kTileBytes];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int k = 0; k < kStages; ++k) {
      init(shared_address(full + k), 1);
      init(shared_address(empty + k), 4);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (warp == 4) {
    if (lane != 0) return;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      int stage = step % kStages, turn = step / kStages;
      wait(shared_address(empty + stage), turn & 1 ^ 1);
      uint32_t barrier = shared_address(full + stage);
      expect(barrier, 2 * kTileBytes);
      load(shared_address(tiles[stage][0]), a, step * kTile, row0, barrier);
      load(shared_address(tiles[stage][1]), b, step * kTile, column0, barrier);
    }
    return;
  }
  float sums[8][4] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    int stage = step % kStages, turn = step / kStages;
    wait(shared_address(full + stage), turn & 1);
    uint32_t left = shared_address(tiles[stage][0]), right = shared_address(tiles[stage][1]);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < kTile; k += 16) multiply(sums, matrix_of(left + k * 2), matrix_of(right + k * 2));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (lane == 0) arrive(shared_address(empty + stage));
  }
  uint32_t out = shared_address(result);
  for (int n = 0; n < 8; ++n)
    for (int k = 0; k < 2; ++k) {
      int row = warp * 16 + lane / 4 + k * 8, at = n * 16 + lane % 4 * 4;
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(out + row * 128 + (at ^ row % 8 * 16)),
          "r"(pack(sums[n][k * 2], sums[n][k * 2 + 1]))
          : "memory");
    }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("bar.sync 1, 128;" ::: "memory");
  if (threadIdx.x == 0) {
    store(c, column0, row0, out);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}
