// Products of E2M1 codes with scales, which only sm_120's tensor cores have.
#pragma once
#include <cstdint>

namespace cairn::cuda {

#if defined(__CUDA_ARCH_FEAT_SM120_ALL)

// sums (16, 8) += a (16, 64) · b (64, 8) of E2M1 codes, each 16 k times an E4M3 scale of a's row and one of
// b's column. Fragments have the bytes of those of multiply_add, in which four codes take the place of a
// number. With g = lane / 4 and t = lane mod 4, a word of `scales_a` has the scales of row g (t even) or
// g + 8 (t odd), and is read from the lanes with t / 2 = threads_a. `scales_b` has those of column g, and is
// read from the lanes with t = thread_b.
template <int threads_a, int thread_b>
__device__ inline void multiply_add_e2m1(float (&sums)[4], const uint32_t (&a)[4], uint32_t b_upper,
    uint32_t b_lower, uint32_t scales_a, uint32_t scales_b) {
  asm volatile(
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {0, %12}, %11, {0, %13};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower), "r"(scales_a), "r"(scales_b),
        "n"(threads_a), "n"(thread_b));
}

#endif

}  // namespace cairn::cuda
