// The three matmuls of a linear layer: forward, towards the input, towards the weight.
#include "launchers.h"
#include "multiply.h"

namespace cairn::device {

namespace {

MatmulSpec nt_spec(const DeviceCall& call) {
  const auto attrs = MatmulNtAttrs::read(call.attrs);
  const Tensor &a = *call.in[matmul_nt_in::a], &b = *call.in[matmul_nt_in::b], &y = *call.out[0];
  MatmulSpec p{Form::nt, a.dims[0], b.dims[0],
      {pair_of(&a, &b), pair_of(call.in[matmul_nt_in::a2], call.in[matmul_nt_in::b2])}, attrs.arithmetic,
      attrs.alpha, call.in[matmul_nt_in::bias], call.in[matmul_nt_in::addend], y.data, y.dtype};
  p.a_amax = call.in[matmul_nt_in::a_amax];
  return p;
}

MatmulSpec tn_spec(const DeviceCall& call) {
  const auto attrs = MatmulTnAttrs::read(call.attrs);
  const Tensor &a = *call.in[matmul_tn_in::a], &b = *call.in[matmul_tn_in::b], &y = *call.out[0];
  return {Form::tn, a.dims[1], b.dims[1], {pair_of(&a, &b), {}}, attrs.arithmetic, attrs.alpha, nullptr,
      call.in[matmul_tn_in::addend], y.data, y.dtype};
}

}  // namespace

MatmulSpec nn_of(const DeviceCall& call) {
  const auto attrs = MatmulNnAttrs::read(call.attrs);
  const Tensor &a = *call.in[matmul_nn_in::a], &b = *call.in[matmul_nn_in::b], &y = *call.out[0];
  MatmulSpec p{Form::nn, a.dims[0], b.dims[1],
      {pair_of(&a, &b), pair_of(call.in[matmul_nn_in::a2], call.in[matmul_nn_in::b2])}, attrs.arithmetic,
      attrs.alpha, nullptr, call.in[matmul_nn_in::addend], y.data, y.dtype};
  p.a_amax = call.in[matmul_nn_in::a_amax];
  p.random = call.in[matmul_nn_in::random];
  p.is_gradient = true;
  p.stream = attrs.stream;
  return p;
}

MatmulSpec matmul_spec(Op op, const DeviceCall& call) {
  return op == Op::matmul_nt ? nt_spec(call) : op == Op::matmul_nn ? nn_of(call) : tn_spec(call);
}

void matmul_nt(DeviceCall& call) { multiply(call, nt_spec(call)); }
void matmul_nn(DeviceCall& call) { multiply(call, nn_of(call)); }
void matmul_tn(DeviceCall& call) { multiply(call, tn_spec(call)); }

}  // namespace cairn::device
