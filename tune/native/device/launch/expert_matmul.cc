// The three matmuls of linears of experts: as in matmul.cc, for the rows of each expert with its own
// matrices. The ends of experts' rows are data, so tiles find their expert on the card.
#include "launchers.h"
#include "multiply.h"

namespace cairn::device {

void expert_matmul_nt(DeviceCall& call) {
  const auto attrs = ExpertMatmulNtAttrs::read(call.attrs);
  const Tensor &a = *call.in[expert_matmul_nt_in::a], &b = *call.in[expert_matmul_nt_in::b],
               &y = *call.out[0];
  MatmulSpec p{Form::nt, a.dims[0], b.dims[1],
      {pair_of(&a, &b), pair_of(call.in[expert_matmul_nt_in::a2], call.in[expert_matmul_nt_in::b2])},
      attrs.arithmetic, attrs.alpha, call.in[expert_matmul_nt_in::bias], call.in[expert_matmul_nt_in::addend],
      y.data, y.dtype};
  p.ends = call.in[expert_matmul_nt_in::ends];
  p.a_amax = call.in[expert_matmul_nt_in::a_amax];
  multiply(call, p);
}

void expert_matmul_nn(DeviceCall& call) {
  const auto attrs = ExpertMatmulNnAttrs::read(call.attrs);
  const Tensor &a = *call.in[expert_matmul_nn_in::a], &b = *call.in[expert_matmul_nn_in::b],
               &y = *call.out[0];
  MatmulSpec p{Form::nn, a.dims[0], b.dims[2],
      {pair_of(&a, &b), pair_of(call.in[expert_matmul_nn_in::a2], call.in[expert_matmul_nn_in::b2])},
      attrs.arithmetic, attrs.alpha, nullptr, call.in[expert_matmul_nn_in::addend], y.data, y.dtype};
  p.ends = call.in[expert_matmul_nn_in::ends];
  p.a_amax = call.in[expert_matmul_nn_in::a_amax];
  p.random = call.in[expert_matmul_nn_in::random];
  p.is_gradient = true;
  p.stream = attrs.stream;
  multiply(call, p);
}

void expert_matmul_tn(DeviceCall& call) {
  const auto attrs = ExpertMatmulTnAttrs::read(call.attrs);
  const Tensor &a = *call.in[expert_matmul_tn_in::a], &b = *call.in[expert_matmul_tn_in::b],
               &y = *call.out[0];
  MatmulSpec p{Form::tn, a.dims[1], b.dims[1], {pair_of(&a, &b), {}}, attrs.arithmetic, attrs.alpha, nullptr,
      nullptr, y.data, y.dtype};
  p.ends = call.in[expert_matmul_tn_in::ends];
  multiply(call, p);
}

}  // namespace cairn::device
