// The three matmuls of a linear layer: forward, towards the input, towards the weight.
#include <stdexcept>

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

namespace {

// A product of matmul_nt_swiglu as a call of matmul_nt.
struct UnitProduct {
  Call call{};
  double attrs[3];

  UnitProduct(const Call& from, int b, int output) {
    const auto given = MatmulNtSwigluAttrs::read(from.attrs);
    attrs[0] = 1;
    attrs[1] = double(given.arithmetic);
    attrs[2] = double(given.dtype);
    call.in[matmul_nt_in::a] = from.in[matmul_nt_swiglu_in::a];
    call.in[matmul_nt_in::b] = from.in[b];
    call.in[matmul_nt_in::a2] = from.in[b + 1];
    call.in[matmul_nt_in::b2] = from.in[b + 2];
    call.out[0] = from.out[output];
    call.attrs = attrs;
    call.pool = from.pool;
    call.scratch = from.scratch;
  }
};

}  // namespace

void matmul_nt_swiglu(Call& call) {
  namespace in = matmul_nt_swiglu_in;
  namespace out = matmul_nt_swiglu_out;
  UnitProduct gate(call, in::gate_b, out::gate), up(call, in::up_b, out::up);
  matmul_nt(gate.call);
  matmul_nt(up.call);
  Call unit = call;
  unit.in[swiglu_in::gate] = call.out[out::gate];
  unit.in[swiglu_in::up] = call.out[out::up];
  unit.out[swiglu_out::y] = call.out[out::y];
  swiglu(unit);
}

// The gradient of the unit's result is written where the gradient of its gate then replaces it.
void matmul_nn_swiglu_grad(Call& call) {
  static_assert(int(matmul_nn_swiglu_grad_in::random) == int(matmul_nn_in::random));
  const Tensor &gate = *call.in[matmul_nn_swiglu_grad_in::gate],
               &up = *call.in[matmul_nn_swiglu_grad_in::up],
               &dgate = *call.out[matmul_nn_swiglu_grad_out::dgate];
  if (MatmulNnSwigluGradAttrs::read(call.attrs).dtype != gate.dtype)
    throw std::runtime_error("dtype must be that of gate");
  multiply(call, gemm_nn(call));
  Call unit = call;
  unit.in[swiglu_grad_in::dy] = &dgate;
  unit.in[swiglu_grad_in::gate] = &gate;
  unit.in[swiglu_grad_in::up] = &up;
  unit.out[swiglu_grad_out::dgate] = &dgate;
  unit.out[swiglu_grad_out::dup] = call.out[matmul_nn_swiglu_grad_out::dup];
  swiglu_grad(unit);
}

void matmul_nt_swiglu_scratch(const Call& call, ScratchSizes& sizes) {
  namespace in = matmul_nt_swiglu_in;
  multiply_scratch(gemm_nt(UnitProduct(call, in::gate_b, matmul_nt_swiglu_out::gate).call), sizes);
  multiply_scratch(gemm_nt(UnitProduct(call, in::up_b, matmul_nt_swiglu_out::up).call), sizes);
}
void matmul_nn_swiglu_grad_scratch(const Call& call, ScratchSizes& sizes) {
  multiply_scratch(gemm_nn(call), sizes);
}
void matmul_nt_scratch(const Call& call, ScratchSizes& sizes) { multiply_scratch(gemm_nt(call), sizes); }
void matmul_nn_scratch(const Call& call, ScratchSizes& sizes) { multiply_scratch(gemm_nn(call), sizes); }
void matmul_tn_scratch(const Call& call, ScratchSizes& sizes) { multiply_scratch(gemm_tn(call), sizes); }

}  // namespace cairn::CAIRN_ISA
