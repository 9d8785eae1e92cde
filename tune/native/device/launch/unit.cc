// Gated units with the products beside them: in one launch where a kernel can, otherwise in those of the
// separate ops.
#include "../../cuda/unit.h"

#include <stdexcept>
#include <string_view>

#include "launchers.h"
#include "matmul_plan.h"
#include "units.h"

namespace cairn::device {

namespace {

const uint16_t* numbers_of(const Matrix& m) { return static_cast<const uint16_t*>(m.stored.part[0]); }

// Whether the kernel of unit.cu can compute two products that share their left operand. It has the tiles of
// matmul_wgmma.cu, reads all operands in place, and writes pairs of bf16 numbers.
bool can_make_unit(const DeviceInfo& device, const MatmulSpec& p) {
  const Plan plan(device, p);
  if (device.is_classic || std::string_view(plan.tiles.module) != kGroups.module || plan.decoder)
    return false;
  for (const bool staged : plan.staged)
    if (staged) return false;
  return p.n % 2 == 0 && p.y_dtype == Dtype::bf16;
}

// The product of the matrix at input `b`, with its second pair after it.
MatmulSpec product_of(const DeviceCall& call, int b, const Tensor& y) {
  const auto attrs = MatmulNtSwigluAttrs::read(call.attrs);
  const Tensor &a = *call.in[matmul_nt_swiglu_in::a], &first = *call.in[b];
  return {Form::nt, a.dims[0], first.dims[0],
      {pair_of(&a, &first), pair_of(call.in[b + 1], call.in[b + 2])}, attrs.arithmetic, 1, nullptr, nullptr,
      y.data, y.dtype};
}

void launch_unit(DeviceCall& call, const MatmulSpec& gate, const MatmulSpec& up, const Tensor& y) {
  cuda::UnitProducts params{};
  params.a = numbers_of(gate.pair[0].a);
  params.m = int32_t(gate.m);
  params.n = int32_t(gate.n);
  params.k = int32_t(gate.pair[0].a.columns);
  const MatmulSpec* const products[] = {&gate, &up};
  for (int i = 0; i < 2; i++) {
    const Pair* const pair = products[i]->pair;
    params.b[i] = numbers_of(pair[0].b);
    params.a2[i] = numbers_of(pair[1].a);
    params.b2[i] = numbers_of(pair[1].b);
    params.k2[i] = int32_t(pair[1].a.columns);
  }
  params.gate = static_cast<uint16_t*>(gate.y);
  params.up = static_cast<uint16_t*>(up.y);
  params.y = data_of<uint16_t>(y);
  call.launch("unit", "wgmma_nt_swiglu_256",
      {blocks_of(gate.m, kWideGroups.rows) * blocks_of(gate.n, kWideGroups.columns / 2)}, kWideGroups.threads,
      params, int(kWideGroups.shared()));
}

}  // namespace

void matmul_nt_swiglu(DeviceCall& call) {
  const Tensor &gate = *call.out[matmul_nt_swiglu_out::gate], &up = *call.out[matmul_nt_swiglu_out::up],
               &y = *call.out[matmul_nt_swiglu_out::y];
  const MatmulSpec of_gate = product_of(call, matmul_nt_swiglu_in::gate_b, gate),
                   of_up = product_of(call, matmul_nt_swiglu_in::up_b, up);
  if (can_make_unit(call.device(), of_gate) && can_make_unit(call.device(), of_up))
    return launch_unit(call, of_gate, of_up, y);
  const Workspace workspace = workspace_of(call, {&of_gate, &of_up});
  multiply(call, of_gate, workspace);
  multiply(call, of_up, workspace);
  unit_forward(call, "swiglu", gate, up, y);
}

void matmul_nn_swiglu_grad(DeviceCall& call) {
  const Tensor &gate = *call.in[matmul_nn_swiglu_grad_in::gate],
               &up = *call.in[matmul_nn_swiglu_grad_in::up],
               &dgate = *call.out[matmul_nn_swiglu_grad_out::dgate],
               &dup = *call.out[matmul_nn_swiglu_grad_out::dup];
  MatmulSpec product = nn_of(call);
  if (product.y_dtype != gate.dtype) throw std::runtime_error("dtype must be that of gate");
  if (can_grad_unit(call.device(), product)) {
    product.gate = &gate;
    product.up = &up;
    product.dup = dup.data;
    return multiply(call, product);
  }
  multiply(call, product);
  unit_backward(call, "swiglu_grad", dgate, gate, up, dgate, dup);
}

}  // namespace cairn::device
