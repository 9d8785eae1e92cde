// Products of bf16 matrices: a·bᵀ (nt), a·b (nn), aᵀ·b (tn), in tiles of 128×128 and, for small results,
// 64×64.
#include "matmul_tiles.h"

using namespace cairn::cuda;

extern "C" __global__ void __launch_bounds__(256, 2) matmul_nt_128(const __grid_constant__ Matmul p) {
  multiply<128, true, true, PlainRight>(p);
}
extern "C" __global__ void __launch_bounds__(256, 2) matmul_nn_128(const __grid_constant__ Matmul p) {
  multiply<128, true, false, PlainRight>(p);
}
extern "C" __global__ void __launch_bounds__(256, 2) matmul_tn_128(const __grid_constant__ Matmul p) {
  multiply<128, false, false, PlainRight>(p);
}
extern "C" __global__ void __launch_bounds__(128, 4) matmul_nt_64(const __grid_constant__ Matmul p) {
  multiply<64, true, true, PlainRight>(p);
}
extern "C" __global__ void __launch_bounds__(128, 4) matmul_nn_64(const __grid_constant__ Matmul p) {
  multiply<64, true, false, PlainRight>(p);
}
extern "C" __global__ void __launch_bounds__(128, 4) matmul_tn_64(const __grid_constant__ Matmul p) {
  multiply<64, false, false, PlainRight>(p);
}
