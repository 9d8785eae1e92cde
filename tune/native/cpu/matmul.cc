// The three matmuls of a linear layer: forward, towards the input, towards the weight.
#include "gemm_stream_nt.h"
#include "gemm.h"
#include "gemm_stream_packed.h"
#include "kernels.h"
#include "linear_rounding.h"

namespace cairn::CAIRN_ISA {

namespace {

template <class Attrs>
Gemm make(const Call& call, int64_t m, int64_t n, Pair first, Pair second, const Tensor* addend) {
  const auto attrs = Attrs::read(call.attrs);
  return {m, n, {first, second}, attrs.alpha, attrs.arithmetic, addend, *call.out[0]};
}

Gemm gemm_nt(const Call& call) {
  const Tensor &a = *call.in[matmul_nt_in::a], &b = *call.in[matmul_nt_in::b];
  const Tensor *a2 = call.in[matmul_nt_in::a2], *b2 = call.in[matmul_nt_in::b2];
  Pair second{};
  if (a2) second = {{stored_of(*a2), true}, {stored_of(*b2), true}, a2->dims[1]};
  Gemm g = make<MatmulNtAttrs>(call, a.dims[0], b.dims[0],
      {{stored_of(a), true}, {stored_of(b), true}, a.dims[1]}, second, call.in[matmul_nt_in::addend]);
  g.bias = call.in[matmul_nt_in::bias];
  if (is_scaled(g.arithmetic))
    scale_first(g, rounding_of(g.arithmetic, false, call.in[matmul_nt_in::a_amax]));
  return g;
}

Gemm gemm_nn(const Call& call) {
  const Tensor &a = *call.in[matmul_nn_in::a], &b = *call.in[matmul_nn_in::b];
  const Tensor *a2 = call.in[matmul_nn_in::a2], *b2 = call.in[matmul_nn_in::b2];
  Pair second{};
  if (a2) second = {{stored_of(*a2), true}, {stored_of(*b2), false}, a2->dims[1]};
  Gemm g = make<MatmulNnAttrs>(call, a.dims[0], b.dims[1],
      {{stored_of(a), true}, {stored_of(b), false}, a.dims[1]}, second, call.in[matmul_nn_in::addend]);
  if (is_scaled(g.arithmetic)) {
    const Rounding r = gradient_rounding(g.arithmetic, call.in[matmul_nn_in::a_amax],
        call.in[matmul_nn_in::random], MatmulNnAttrs::read(call.attrs).stream);
    scale_first(g, r);
  }
  return g;
}

// A result with few columns and many rows is computed as its transpose, so that the long side runs along
// vectors.
Gemm gemm_tn(const Call& call) {
  const Tensor &a = *call.in[matmul_tn_in::a], &b = *call.in[matmul_tn_in::b];
  const Operand of_a{stored_of(a), false}, of_b{stored_of(b), false};
  const int64_t m = a.dims[1], n = b.dims[1], k = a.dims[0];
  if (m <= n || n > kStreamPackedRows)
    return make<MatmulTnAttrs>(call, m, n, {of_a, of_b, k}, {}, call.in[matmul_tn_in::addend]);
  Gemm transposed = make<MatmulTnAttrs>(call, n, m, {of_b, of_a, k}, {}, call.in[matmul_tn_in::addend]);
  transposed.is_transposed = true;
  return transposed;
}

// Few rows have their own kernels: one for weights with rows along k, one for all others.
void multiply(const Call& call, const Gemm& g) {
  if (streams_nt(g)) gemm_stream_nt(call, g);
  else if (streams_packed(g)) gemm_stream_packed(call, g);
  else gemm(call, g);
}
void multiply_scratch(const Gemm& g, ScratchSizes& sizes) {
  if (streams_nt(g)) gemm_stream_nt_scratch(g, sizes);
  else if (streams_packed(g)) gemm_stream_packed_scratch(g, sizes);
  else gemm_scratch(g, sizes);
}

}  // namespace

void matmul_nt(Call& call) { multiply(call, gemm_nt(call)); }
void matmul_nn(Call& call) { multiply(call, gemm_nn(call)); }
void matmul_tn(Call& call) { multiply(call, gemm_tn(call)); }
void matmul_nt_scratch(const Call& call, ScratchSizes& sizes) { multiply_scratch(gemm_nt(call), sizes); }
void matmul_nn_scratch(const Call& call, ScratchSizes& sizes) { multiply_scratch(gemm_nn(call), sizes); }
void matmul_tn_scratch(const Call& call, ScratchSizes& sizes) { multiply_scratch(gemm_tn(call), sizes); }

}  // namespace cairn::CAIRN_ISA
