// A matmul as ops describe it, and its launches. Operands that kernels cannot read directly are staged to
// scratch first. If few blocks would have long sums, the sums are split over more blocks.
#pragma once
#include "../../cuda/matmul.h"
#include "../launch.h"

namespace cairn::device {

// Floats or a stored weight: `rows` rows of `columns` numbers, in `matrices` consecutive matrices.
struct Matrix {
  cuda::Stored stored;
  int64_t rows = 0, columns = 0, matrices = 1;
  // Bytes between matrices.
  int64_t next = 0;
};

Matrix matrix_of(const Tensor& t);
Matrix floats_at(const void* data, Dtype dtype, int64_t rows, int64_t columns);

struct Pair {
  Matrix a, b;
};
// Without a, none.
inline Pair pair_of(const Tensor* a, const Tensor* b) {
  return a ? Pair{matrix_of(*a), matrix_of(*b)} : Pair{};
}

// Whether the rows of a and b run along the sums: a·bᵀ, a·b, aᵀ·b.
enum class Form { nt, nn, tn };

struct MatmulSpec {
  Form form;
  int64_t m, n;
  // The second pair exists if its a has columns.
  Pair pair[2];
  Arithmetic arithmetic;
  float alpha;
  const Tensor* bias = nullptr;
  const Tensor* addend = nullptr;
  void* y;
  Dtype y_dtype;
  // With them, the result is the gradient of gate · σ(gate) · up: y gets the gradient of gate, `dup` that of
  // up.
  const Tensor* gate = nullptr;
  const Tensor* up = nullptr;
  void* dup = nullptr;
  // End of each expert's rows.
  const Tensor* ends = nullptr;
  // For rounded left operands.
  const Tensor* a_amax = nullptr;
  const Tensor* random = nullptr;
  bool is_gradient = false;
  int32_t stream = 0;
  // Rows from *live_rows − first_row on are ignored.
  const int32_t* live_rows = nullptr;
  int32_t first_row = 0;
};

// The product of a step with one of the three matmuls.
MatmulSpec matmul_spec(Op op, const DeviceCall& call);

// Scratch of an op's matmuls, allocated once at the size of the largest.
struct Workspace {
  char* staged;
  float* partial;
  uint32_t* arrived;
};
constexpr int kStagedSlot = 6, kPartialSlot = 7;
Workspace workspace_of(DeviceCall& call, std::initializer_list<const MatmulSpec*> specs);

// The product of an op with the inputs and attributes of matmul_nn, in the same positions. y is its first
// output.
MatmulSpec nn_of(const DeviceCall& call);
// Whether a kernel can write the gradients of a gated unit instead of a product's result.
bool can_grad_unit(const DeviceInfo& device, const MatmulSpec& spec);

void multiply(DeviceCall& call, const MatmulSpec& spec, const Workspace& workspace);
inline void multiply(DeviceCall& call, const MatmulSpec& spec) {
  multiply(call, spec, workspace_of(call, {&spec}));
}

}  // namespace cairn::device
