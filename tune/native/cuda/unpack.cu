// Decodes a stored weight to bf16 in scratch, for products with so many rows that decoding it in each of
// their tiles would cost more. A thread takes sixteen neighbours of a row.
#include "unpack.h"

#include "decode.h"
#include "floats.h"

using namespace cairn::cuda;

namespace {

template <class Weight>
__device__ inline void unpack(const Unpack& p) {
  __shared__ float table[Weight::kTableFloats ? Weight::kTableFloats : 1];
  const Weight weight(p.matmul, 0, table);
  const int64_t runs_of_row = p.matmul.weight.columns / 16;
  for (int64_t i = first_of_thread(); i < p.runs; i += threads_of_grid()) {
    typename Weight::Codes codes;
    weight.fetch(int(i / runs_of_row), int(i % runs_of_row) * 16, codes);
    uint32_t words[8];
    weight.decode(codes, words);
    uint4* to = reinterpret_cast<uint4*>(p.to + i * 16);
    to[0] = make_uint4(words[0], words[1], words[2], words[3]);
    to[1] = make_uint4(words[4], words[5], words[6], words[7]);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) unpack_fp8_tiles(const __grid_constant__ Unpack p) {
  unpack<Fp8Weight<true>>(p);
}
extern "C" __global__ void __launch_bounds__(256) unpack_fp8_tensor(const __grid_constant__ Unpack p) {
  unpack<Fp8Weight<false>>(p);
}
extern "C" __global__ void __launch_bounds__(256) unpack_nvfp4(const __grid_constant__ Unpack p) {
  unpack<Nvfp4Weight>(p);
}
extern "C" __global__ void __launch_bounds__(256) unpack_mxfp4(const __grid_constant__ Unpack p) {
  unpack<Mxfp4Weight>(p);
}
extern "C" __global__ void __launch_bounds__(256) unpack_nf4(const __grid_constant__ Unpack p) {
  unpack<Nf4Weight>(p);
}
