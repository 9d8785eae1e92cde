// Operations across the lanes of a warp and the threads of a block, and every PTX instruction in use, once.
#pragma once
#include <cstdint>

namespace cairn::cuda {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// Sums in an order that depends only on the number of lanes. Every lane gets the sum.
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

// Sums over a block of whole warps. Every thread gets the sum. `space` has one T per warp and one more, and
// may be reused when the call returns.
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
  float maximum = space[0];
  for (int i = 1; i < warps; i++) maximum = fmaxf(maximum, space[i]);
  __syncthreads();
  return maximum;
}

// Whether this block is the last of `count` blocks that arrive at a counter in global memory. It then sees
// everything that the others wrote before they arrived. The counter is zero before the first arrival, and
// again after the last, so that the next launch needs no clear.
__device__ inline bool arrives_last(uint32_t* counter, int count) {
  // The barrier orders the writes of all threads before the release of thread 0.
  __syncthreads();
  uint32_t place = 0;
  if (threadIdx.x == 0)
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(place)
                 : "l"(__cvta_generic_to_global(counter)), "r"(count - 1)
                 : "memory");
  return __syncthreads_or(threadIdx.x == 0 && int(place) == count - 1) != 0;
}

// Reports invalid data of a kernel. The first report is kept.
__device__ inline void report(int32_t* fault, int code) { atomicCAS(fault, 0, code); }

// The address of shared memory for PTX instructions.
__device__ inline uint32_t shared_address(const void* at) { return uint32_t(__cvta_generic_to_shared(at)); }

// Starts a copy of 16 bytes to shared memory; if `is_there` is false it writes zeros and reads nothing. The
// data is visible to this thread after await_copies, and to others after a barrier that follows.
__device__ inline void copy_async(uint32_t to, const void* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_there ? 16 : 0)
               : "memory");
}
// The same with 4 bytes.
__device__ inline void copy_async_word(uint32_t to, const void* from, bool is_there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(is_there ? 4 : 0)
               : "memory");
}
// Copies since the last call become a group.
__device__ inline void group_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `pending` groups are in flight.
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

// sums (16, 8) += a (16, 16) · b (16, 8) of bf16. With g = lane / 4 and t = lane mod 4: a has (g, 2t),
// (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8) and their right neighbours, b has (2t, g), (2t + 8, g) and the
// ones below, sums has (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
__device__ inline void multiply_add(
    float (&sums)[4], const uint32_t (&a)[4], uint32_t b_upper, uint32_t b_lower) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
               "{%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));
}

// Two numbers to nearest bf16, ties to even. The first is in the lower half.
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

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Instructions of sm_90a: products of warpgroups (four consecutive warps) that read both operands from shared
// memory.

// Makes this thread's writes to shared memory, and completed copies, visible to tensor cores. Call it before
// the barrier that precedes the products.
__device__ inline void fence_tensor_reads() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Before the first product of a group: orders accesses to the registers of sums.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Products since the last call become a group.
__device__ inline void group_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
__device__ inline void await_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Descriptor of a matrix in shared memory with rows of 128 bytes swizzled as in chunk_at<64>, aligned to 1024
// bytes: `next_rows` bytes between groups of eight rows, `next_panel` between groups of 64 columns.
__device__ inline uint64_t matrix_of(uint32_t at, int next_rows, int next_panel) {
  return uint64_t(at >> 4 & 0x3fff) | uint64_t(next_panel >> 4) << 16 | uint64_t(next_rows >> 4) << 32 |
         uint64_t(1) << 62;
}

// The descriptor of a matrix that starts this many bytes later in shared memory, a multiple of 16.
__device__ inline uint64_t later_in(uint64_t matrix, int bytes) { return matrix + bytes / 16; }

// The 64 sums of a thread in a product of 64×128, as names and operands of PTX. Each warp has 16 rows of
// them, with fragments of eight columns as in multiply_add.
#define CAIRN_SUM_NAMES                                                                                      \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                  \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                         \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                         \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
#define CAIRN_SUMS(mode, d)                                                                                  \
  mode(d[0][0]), mode(d[0][1]), mode(d[0][2]), mode(d[0][3]), mode(d[1][0]),                                 \
  mode(d[1][1]), mode(d[1][2]), mode(d[1][3]), mode(d[2][0]), mode(d[2][1]),                                 \
  mode(d[2][2]), mode(d[2][3]), mode(d[3][0]), mode(d[3][1]), mode(d[3][2]),                                 \
  mode(d[3][3]), mode(d[4][0]), mode(d[4][1]), mode(d[4][2]), mode(d[4][3]),                                 \
  mode(d[5][0]), mode(d[5][1]), mode(d[5][2]), mode(d[5][3]), mode(d[6][0]),                                 \
  mode(d[6][1]), mode(d[6][2]), mode(d[6][3]), mode(d[7][0]), mode(d[7][1]),                                 \
  mode(d[7][2]), mode(d[7][3]), mode(d[8][0]), mode(d[8][1]), mode(d[8][2]),                                 \
  mode(d[8][3]), mode(d[9][0]), mode(d[9][1]), mode(d[9][2]), mode(d[9][3]),                                 \
  mode(d[10][0]), mode(d[10][1]), mode(d[10][2]), mode(d[10][3]), mode(d[11][0]),                            \
  mode(d[11][1]), mode(d[11][2]), mode(d[11][3]), mode(d[12][0]), mode(d[12][1]),                            \
  mode(d[12][2]), mode(d[12][3]), mode(d[13][0]), mode(d[13][1]), mode(d[13][2]),                            \
  mode(d[13][3]), mode(d[14][0]), mode(d[14][1]), mode(d[14][2]), mode(d[14][3]),                            \
  mode(d[15][0]), mode(d[15][1]), mode(d[15][2]), mode(d[15][3])

// d (64, 128) += a (64, 16) · b (16, 128) of bf16. An operand is "across" if its rows in shared memory run
// across k.
template <bool a_across, bool b_across>
__device__ inline void multiply_add_group(float (&d)[16][4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " CAIRN_SUM_NAMES
               "%64, %65, 1, 1, 1, %66, %67;"
               : CAIRN_SUMS("+f", d)
               : "l"(a), "l"(b), "n"(int(a_across)), "n"(int(b_across)));
}
// The same without the previous d.
template <bool a_across, bool b_across>
__device__ inline void multiply_group(float (&d)[16][4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " CAIRN_SUM_NAMES
               "%64, %65, 0, 1, 1, %66, %67;"
               : CAIRN_SUMS("=f", d)
               : "l"(a), "l"(b), "n"(int(a_across)), "n"(int(b_across)));
}

#define CAIRN_MULTIPLY_CODES(formats, adds, mode)                                                            \
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32." formats " " CAIRN_SUM_NAMES                    \
               "%64, %65, " adds ", 1, 1;"                                                                   \
               : CAIRN_SUMS(mode, d)                                                                         \
               : "l"(a), "l"(b))

// d (64, 128) += a (64, 32) · b (32, 128) of fp8 codes, both along k. b is E4M3, and so is a unless it is a
// gradient, which is E5M2.
template <bool is_gradient>
__device__ inline void multiply_add_codes(float (&d)[16][4], uint64_t a, uint64_t b) {
  if (is_gradient) CAIRN_MULTIPLY_CODES("e5m2.e4m3", "1", "+f");
  else CAIRN_MULTIPLY_CODES("e4m3.e4m3", "1", "+f");
}
// The same without the previous d.
template <bool is_gradient>
__device__ inline void multiply_codes(float (&d)[16][4], uint64_t a, uint64_t b) {
  if (is_gradient) CAIRN_MULTIPLY_CODES("e5m2.e4m3", "0", "=f");
  else CAIRN_MULTIPLY_CODES("e4m3.e4m3", "0", "=f");
}

// Keeps the compiler from reading sums before this point: it does not know that products write them until
// they are awaited.
__device__ inline void hold_sums(float (&d)[16][4]) { asm volatile("" : CAIRN_SUMS("+f", d)); }

// The same with b (16, 256) and d (64, 256), in halves of 128 columns. Unless it adds, d may be
// uninitialised.
template <bool a_across, bool b_across>
__device__ inline void multiply_add_group(float (&d)[2][16][4], uint64_t a, uint64_t b, bool adds) {
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %132, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, adds, 1, 1, %130, %131;\n}"
      :
        "+f"(d[0][0][0]), "+f"(d[0][0][1]), "+f"(d[0][0][2]), "+f"(d[0][0][3]),
        "+f"(d[0][1][0]), "+f"(d[0][1][1]), "+f"(d[0][1][2]), "+f"(d[0][1][3]),
        "+f"(d[0][2][0]), "+f"(d[0][2][1]), "+f"(d[0][2][2]), "+f"(d[0][2][3]),
        "+f"(d[0][3][0]), "+f"(d[0][3][1]), "+f"(d[0][3][2]), "+f"(d[0][3][3]),
        "+f"(d[0][4][0]), "+f"(d[0][4][1]), "+f"(d[0][4][2]), "+f"(d[0][4][3]),
        "+f"(d[0][5][0]), "+f"(d[0][5][1]), "+f"(d[0][5][2]), "+f"(d[0][5][3]),
        "+f"(d[0][6][0]), "+f"(d[0][6][1]), "+f"(d[0][6][2]), "+f"(d[0][6][3]),
        "+f"(d[0][7][0]), "+f"(d[0][7][1]), "+f"(d[0][7][2]), "+f"(d[0][7][3]),
        "+f"(d[0][8][0]), "+f"(d[0][8][1]), "+f"(d[0][8][2]), "+f"(d[0][8][3]),
        "+f"(d[0][9][0]), "+f"(d[0][9][1]), "+f"(d[0][9][2]), "+f"(d[0][9][3]),
        "+f"(d[0][10][0]), "+f"(d[0][10][1]), "+f"(d[0][10][2]), "+f"(d[0][10][3]),
        "+f"(d[0][11][0]), "+f"(d[0][11][1]), "+f"(d[0][11][2]), "+f"(d[0][11][3]),
        "+f"(d[0][12][0]), "+f"(d[0][12][1]), "+f"(d[0][12][2]), "+f"(d[0][12][3]),
        "+f"(d[0][13][0]), "+f"(d[0][13][1]), "+f"(d[0][13][2]), "+f"(d[0][13][3]),
        "+f"(d[0][14][0]), "+f"(d[0][14][1]), "+f"(d[0][14][2]), "+f"(d[0][14][3]),
        "+f"(d[0][15][0]), "+f"(d[0][15][1]), "+f"(d[0][15][2]), "+f"(d[0][15][3]),
        "+f"(d[1][0][0]), "+f"(d[1][0][1]), "+f"(d[1][0][2]), "+f"(d[1][0][3]),
        "+f"(d[1][1][0]), "+f"(d[1][1][1]), "+f"(d[1][1][2]), "+f"(d[1][1][3]),
        "+f"(d[1][2][0]), "+f"(d[1][2][1]), "+f"(d[1][2][2]), "+f"(d[1][2][3]),
        "+f"(d[1][3][0]), "+f"(d[1][3][1]), "+f"(d[1][3][2]), "+f"(d[1][3][3]),
        "+f"(d[1][4][0]), "+f"(d[1][4][1]), "+f"(d[1][4][2]), "+f"(d[1][4][3]),
        "+f"(d[1][5][0]), "+f"(d[1][5][1]), "+f"(d[1][5][2]), "+f"(d[1][5][3]),
        "+f"(d[1][6][0]), "+f"(d[1][6][1]), "+f"(d[1][6][2]), "+f"(d[1][6][3]),
        "+f"(d[1][7][0]), "+f"(d[1][7][1]), "+f"(d[1][7][2]), "+f"(d[1][7][3]),
        "+f"(d[1][8][0]), "+f"(d[1][8][1]), "+f"(d[1][8][2]), "+f"(d[1][8][3]),
        "+f"(d[1][9][0]), "+f"(d[1][9][1]), "+f"(d[1][9][2]), "+f"(d[1][9][3]),
        "+f"(d[1][10][0]), "+f"(d[1][10][1]), "+f"(d[1][10][2]), "+f"(d[1][10][3]),
        "+f"(d[1][11][0]), "+f"(d[1][11][1]), "+f"(d[1][11][2]), "+f"(d[1][11][3]),
        "+f"(d[1][12][0]), "+f"(d[1][12][1]), "+f"(d[1][12][2]), "+f"(d[1][12][3]),
        "+f"(d[1][13][0]), "+f"(d[1][13][1]), "+f"(d[1][13][2]), "+f"(d[1][13][3]),
        "+f"(d[1][14][0]), "+f"(d[1][14][1]), "+f"(d[1][14][2]), "+f"(d[1][14][3]),
        "+f"(d[1][15][0]), "+f"(d[1][15][1]), "+f"(d[1][15][2]), "+f"(d[1][15][3])
      : "l"(a), "l"(b), "n"(int(a_across)), "n"(int(b_across)), "r"(int(adds)));
}

// Sets the registers of each thread of the warpgroup, in which every warp must reach this. Taking more waits
// until another warpgroup of the block has fewer.
template <int count>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

// mbarriers: 8 bytes of shared memory each. A phase completes after `count` arrivals and the bytes that they
// expect. Call fence_barriers, then synchronise the block, before the first use.
__device__ inline void init_barrier(uint32_t at, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory");
}
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void arrive_expecting(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Waits for the end of a phase with this parity. The first phase has parity 0, and the one before it counts
// as complete.
__device__ inline void await_phase(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra WAIT;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Copies the box of a tensor map from (row, column) on. Numbers outside the matrix become zeros. Completes
// the bytes of the whole box at the barrier.
__device__ inline void copy_box(uint32_t to, const void* map, int row, int column, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

#endif

}  // namespace cairn::cuda
