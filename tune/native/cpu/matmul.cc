// The three matmuls of a linear layer: forward, towards the input, towards the weight.
#include "gemm.h"
#include "kernels.h"

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
  return make<MatmulNtAttrs>(call, a.dims[0], b.dims[0], {{stored_of(a), true}, {stored_of(b), true}, a.dims[1]}, second, call.in[matmul_nt_in::addend]);
}

Gemm gemm_nn(const Call& call) {
  const Tensor &a = *call.in[matmul_nn_in::a], &b = *call.in[matmul_nn_in::b];
  const Tensor *a2 = call.in[matmul_nn_in::a2], *b2 = call.in[matmul_nn_in::b2];
  Pair second{};
  if (a2) second = {{stored_of(*a2), true}, {stored_of(*b2), false}, a2->dims[1]};
  return make<MatmulNnAttrs>(call, a.dims[0], b.dims[1], {{stored_of(a), true}, {stored_of(b), false}, a.dims[1]}, second, call.in[matmul_nn_in::addend]);
}

Gemm gemm_tn(const Call& call) {
  const Tensor &a = *call.in[matmul_tn_in::a], &b = *call.in[matmul_tn_in::b];
  return make<MatmulTnAttrs>(call, a.dims[1], b.dims[1], {{stored_of(a), false}, {stored_of(b), false}, a.dims[0]}, {}, call.in[matmul_tn_in::addend]);
}

}  // namespace

void matmul_nt(Call& call) { gemm(call, gemm_nt(call)); }
void matmul_nn(Call& call) { gemm(call, gemm_nn(call)); }
void matmul_tn(Call& call) { gemm(call, gemm_tn(call)); }
void matmul_nt_rooms(const Call& call, Rooms& rooms) { gemm_rooms(gemm_nt(call), rooms); }
void matmul_nn_rooms(const Call& call, Rooms& rooms) { gemm_rooms(gemm_nn(call), rooms); }
void matmul_tn_rooms(const Call& call, Rooms& rooms) { gemm_rooms(gemm_tn(call), rooms); }

}  // namespace cairn::CAIRN_ISA
