// A product of matrices, as ops describe it, and its launches: operands that cannot be read as they are go to
// a scratch first, and where few blocks would have long sums, they are shared out.
#pragma once
#include "../../cuda/matmul.h"
#include "../launch.h"

namespace cairn::device {

// Floats or a stored weight: `rows` of `columns` numbers, `matrices` of them in a row.
struct Matrix {
  cuda::Stored stored;
  int64_t rows = 0, columns = 0, matrices = 1;
  // Bytes from a matrix to the next.
  int64_t next = 0;
};

Matrix matrix_of(const Tensor& t);
Matrix floats_at(const void* data, Dtype dtype, int64_t rows, int64_t columns);

struct Pair {
  Matrix a, b;
};

// Whether rows of a and b lie along the sums: a·bᵀ, a·b, aᵀ·b.
enum class Form { nt, nn, tn };

struct MatmulSpec {
  Form form;
  int64_t m, n;
  // The second pair is there where its a has columns.
  Pair pair[2];
  Arithmetic arithmetic;
  float alpha;
  const Tensor* bias = nullptr;
  const Tensor* addend = nullptr;
  void* y;
  Dtype y_dtype;
  // Where each expert's rows end.
  const Tensor* ends = nullptr;
  // Of rounded left operands.
  const Tensor* a_amax = nullptr;
  const Tensor* random = nullptr;
  bool is_gradient = false;
  int32_t stream = 0;
  // Rows from *live_rows − first_row on are left out.
  const int32_t* live_rows = nullptr;
  int32_t first_row = 0;
};

// What products work in beside their operands: taken once an op, as large as the largest asks for.
struct Workspace {
  char* staged;
  float* partial;
};
constexpr int kStagedSlot = 6, kPartialSlot = 7;
Workspace workspace_of(DeviceCall& call, std::initializer_list<const MatmulSpec*> specs);

void multiply(DeviceCall& call, const MatmulSpec& spec, const Workspace& workspace);
inline void multiply(DeviceCall& call, const MatmulSpec& spec) {
  multiply(call, spec, workspace_of(call, {&spec}));
}

}  // namespace cairn::device
