// Products with a stored weight, whose codes are decoded to bf16 between memory and shared memory: a·bᵀ (nt)
// and a·b (nn), for every storage.
#include "decode.h"
#include "matmul_tiles.h"

using namespace cairn::cuda;

namespace {

// Each thread has one run of a step's tile: sixteen neighbours of a stored row.
template <int size, bool along_k, class Weight>
struct StoredRight {
  static constexpr bool kDecodes = true;
  static constexpr int kWidth = along_k ? kStep : size, kRunsOfRow = kWidth / 16;
  static_assert(size * kStep / 16 == TileShape<size>::kThreads);

  Weight weight;
  int row, run, first, rows, columns;
  typename Weight::Codes codes{};
  bool is_there = false;

  static __device__ float* table() {
    __shared__ float space[Weight::kTableFloats ? Weight::kTableFloats : 1];
    return space;
  }

  __device__ StoredRight(const Matmul& p, const ResultTile& place)
      : weight(p, place.matrix * p.weight_next, table()),
        row(int(threadIdx.x) / kRunsOfRow),
        run(int(threadIdx.x) % kRunsOfRow),
        first(place.column),
        rows(along_k ? p.n : p.k[0]),
        columns(along_k ? p.k[0] : p.n) {}

  __device__ void fetch(int k) {
    const int r = row + (along_k ? first : k), c = run * 16 + (along_k ? k : first);
    is_there = r < rows && c < columns;
    if (is_there) weight.fetch(r, c, codes);
  }

  // Writes the halves of a run in an order in which eight threads access different banks.
  __device__ void put(char* tile) const {
    uint32_t words[8] = {};
    if (is_there) weight.decode(codes, words);
    const bool is_swapped = kRunsOfRow == 8 && run >= 4;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const bool is_second = (i == 1) != is_swapped;
      uint4 half;
      half.x = is_second ? words[4] : words[0];
      half.y = is_second ? words[5] : words[1];
      half.z = is_second ? words[6] : words[2];
      half.w = is_second ? words[7] : words[3];
      const int chunk = run * 2 + is_second;
      *reinterpret_cast<uint4*>(
          tile + (along_k ? chunk_at<kStep>(row, chunk) : panel_chunk_at<kStep>(row, chunk))) = half;
    }
  }
};

template <int size, bool along_k, class Weight>
__device__ inline void multiply_stored(const Matmul& p) {
  multiply<size, true, along_k, StoredRight<size, along_k, Weight>>(p);
}

}  // namespace

#define CAIRN_STORED(format, Weight)                                                                         \
  extern "C" __global__ void __launch_bounds__(256, 2)                                                       \
      matmul_nt_##format##_128(const __grid_constant__ Matmul p) {                                           \
    multiply_stored<128, true, Weight>(p);                                                                   \
  }                                                                                                          \
  extern "C" __global__ void __launch_bounds__(256, 2)                                                       \
      matmul_nn_##format##_128(const __grid_constant__ Matmul p) {                                           \
    multiply_stored<128, false, Weight>(p);                                                                  \
  }                                                                                                          \
  extern "C" __global__ void __launch_bounds__(128, 4)                                                       \
      matmul_nt_##format##_64(const __grid_constant__ Matmul p) {                                            \
    multiply_stored<64, true, Weight>(p);                                                                    \
  }                                                                                                          \
  extern "C" __global__ void __launch_bounds__(128, 4)                                                       \
      matmul_nn_##format##_64(const __grid_constant__ Matmul p) {                                            \
    multiply_stored<64, false, Weight>(p);                                                                   \
  }

CAIRN_STORED(fp8_tiles, Fp8Weight<true>)
CAIRN_STORED(fp8_tensor, Fp8Weight<false>)
CAIRN_STORED(nvfp4, Nvfp4Weight)
CAIRN_STORED(mxfp4, Mxfp4Weight)
CAIRN_STORED(nf4, Nf4Weight)
