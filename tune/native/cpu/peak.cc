// Measures the peak: the micro-kernel's multiply-adds on words that never leave the first-level cache.
#include <time.h>

#include "micro.h"

namespace cairn::CAIRN_ISA {

double peak(Arithmetic arithmetic);

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Hides a register's value from the compiler.
inline void keep(vu& value) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(value));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(value));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}

// Sums of 24 independent registers, fed from registers.
template <bool pairs>
[[gnu::noinline]] float spin(int64_t n, uint32_t word) {
  constexpr int kSums = kRegisterRows == 8 ? 24 : 12;
  // Different initial values, or the compiler would compute one sum for all.
  vf sum[kSums];
  for (int i = 0; i < kSums; i++) sum[i] = splat(float(i));
  vu b[3] = {vu{} + word, vu{} + word, vu{} + word};
  for (int64_t k = 0; k < n; k++) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; i++) sum[i] = multiply_add<pairs>(sum[i], word, b[i % 3]);
    // Makes the compiler assume that the factors may change.
    keep(b[0]);
  }
  vf all{};
  for (int i = 0; i < kSums; i++) all += sum[i];
  return sum_lanes(all);
}

#if defined(__AMX_BF16__)
// Sums of four tiles, fed from registers.
[[gnu::noinline]] void spin_tiles(int64_t n) {
  const Tiles tiles;
  for (int64_t i = 0; i < n; i++)
    multiply_tiles<0, 4, 6>(), multiply_tiles<1, 4, 7>(), multiply_tiles<2, 5, 6>(),
        multiply_tiles<3, 5, 7>();
}
constexpr double kTileFlops = 4.0 * 2 * kTileRows * kTileRows * 2 * kTileWords;
#endif

template <class Spin>
double fastest(double flops, Spin spin) {
  double best = 1e30;
  for (int repeat = 0; repeat < 5; repeat++) {
    const double start = now();
    spin();
    const double seconds = now() - start;
    if (seconds < best) best = seconds;
  }
  return flops / best;
}

}  // namespace

double peak(Arithmetic arithmetic) {
#if defined(__AMX_BF16__)
  if (arithmetic == Arithmetic::bf16) return fastest(100000 * kTileFlops, [] { spin_tiles(100000); });
#endif
  const bool pairs = arithmetic == Arithmetic::bf16 && kHasBf16Dot;
  constexpr int kSums = kRegisterRows == 8 ? 24 : 12;
  const int64_t n = 400000;
  volatile float sink = 0;
  return fastest(double(n) * kSums * VL * (pairs ? 4 : 2),
      [&] { sink = sink + (pairs ? spin<kHasBf16Dot>(n, 0x3c003c00) : spin<false>(n, 0x3c000000)); });
}

}  // namespace cairn::CAIRN_ISA
