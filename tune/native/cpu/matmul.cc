// The three matmuls of a linear layer: forward, towards the input, towards the weight.
#include "gemm_stream_nt.h"
#include "gemm.h"
#include "kernels.h"
#include "gemm_stream_packed.h"

namespace cairn::CAIRN_ISA {

namespace {

// How fp8_hybrid and nvfp4 round a: an activation to E4M3, a gradient to E5M2, either to blocks of E2M1.
Rounding rounding_of(Arithmetic arithmetic, bool is_gradient, const Tensor* a_amax) {
  Rounding r;
  // Sizes are asked for before there is data.
  const float amax = a_amax && a_amax->data ? floats_of(*a_amax)[0] : 0;
  const float most = arithmetic == Arithmetic::nvfp4 ? 448.0f * 6.0f
                     : is_gradient                   ? 57344.0f
                                                     : 448.0f,
              least = arithmetic == Arithmetic::nvfp4 ? 1e-30f : 1e-10f;
  r.format = arithmetic == Arithmetic::nvfp4 ? Rounding::nvfp4
             : is_gradient                   ? Rounding::e5m2
                                             : Rounding::e4m3;
  r.encode = most / (amax > least ? amax : least);
  r.decode = arithmetic == Arithmetic::nvfp4 ? (amax > least ? amax : least) / most : 1.0f / r.encode;
  return r;
}

void scale_first(Gemm& g, Rounding rounding) {
  Stored &a = g.pair[0].a.stored, &b = g.pair[0].b.stored;
  a.rounding = rounding;
  b.without_tensor_scale = true;
  g.is_scaled = true;
  g.scale = rounding.decode * (b.part[0] ? tensor_scale_of(b) : 1.0f);
}

bool is_scaled(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fp8_hybrid || arithmetic == Arithmetic::nvfp4;
}

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
    Rounding r = rounding_of(g.arithmetic, true, call.in[matmul_nn_in::a_amax]);
    const Tensor* random = call.in[matmul_nn_in::random];
    if (r.format == Rounding::nvfp4 && random) {
      r.format = Rounding::nvfp4_stochastic;
      r.stream = uint32_t(MatmulNnAttrs::read(call.attrs).stream);
      if (random->data)
        r.seed[0] = uint32_t(ints_of(*random)[0]), r.seed[1] = uint32_t(ints_of(*random)[1]),
        r.step = uint32_t(ints_of(*random)[2]);
    }
    scale_first(g, r);
  }
  return g;
}

// A result with few columns and many rows is made as its transpose, so that the long side runs along vectors.
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

// Few rows have kernels of their own: one for weights whose rows lie along k, one for the rest.
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
