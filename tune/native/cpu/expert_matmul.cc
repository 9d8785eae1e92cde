// The three matmuls of linears of experts: as in matmul.cc, for the rows of each expert with its own
// matrices. An expert without rows costs nothing; the gradients of its weights are zeros. Rows after the last
// expert's are neither read nor written.
#include <stdexcept>

#include "gemm_many.h"
#include "kernels.h"
#include "linear_rounding.h"

namespace cairn::CAIRN_ISA {

namespace {

// Row ranges of the experts. Throws unless they are in order and within `rows`.
struct Spans {
  const int32_t* ends;
  int64_t count;

  Spans(const Tensor& tensor, int64_t rows) : ends(ints_of(tensor)), count(tensor.count) {
    for (int64_t e = 0; e < count; e++)
      if (length(e) < 0) throw std::runtime_error("the ends of experts must not fall");
    if (count == 0 || ends[count - 1] > rows)
      throw std::runtime_error("the last expert must end within the rows");
  }
  int64_t first(int64_t e) const { return e > 0 ? ends[e - 1] : 0; }
  int64_t length(int64_t e) const { return ends[e] - first(e); }
};

GemmTask* list_of(const Call& call, int64_t count) {
  return static_cast<GemmTask*>(shared_scratch(call.scratch, kGemmTasks, size_t(count) * sizeof(GemmTask)));
}

// a·b[e]ᵀ or a·b[e] with bias and addend, for the rows of expert e.
struct Linear {
  const Tensor &a, &b, *a2, *b2, *addend, *bias;
  bool b_along_k;
  float alpha;
  Arithmetic arithmetic;
  Rounding rounding;

  int64_t outputs() const { return b.dims[b_along_k ? 1 : 2]; }
  GemmBounds largest() const { return {arithmetic, a.dims[0], a.dims[1], a2 ? a2->dims[1] : 0}; }

  void make(GemmTask& to, int64_t e, int64_t first, int64_t rows, const Tensor& y) const {
    Pair second{};
    if (a2)
      second = {{stored_of(rows_of(*a2, first, rows)), true}, {stored_of(matrix_of(*b2, e)), b_along_k},
          a2->dims[1]};
    to = {
        {rows, outputs(),
            {{{stored_of(rows_of(a, first, rows)), true}, {stored_of(matrix_of(b, e)), b_along_k}, a.dims[1]},
                second},
            alpha, arithmetic, nullptr, rows_of(y, first, rows)},
        {}, {}};
    if (addend) to.addend = rows_of(*addend, first, rows), to.g.addend = &to.addend;
    if (bias) to.bias = rows_of(*bias, e, 1), to.g.bias = &to.bias;
    if (!is_scaled(arithmetic)) return;
    Rounding own = rounding;
    own.first = first * a.dims[1];
    scale_first(to.g, own);
  }

  void run(const Call& call, const Tensor& ends) const {
    const Spans spans(ends, a.dims[0]);
    GemmTask* tasks = list_of(call, spans.count);
    for (int64_t e = 0; e < spans.count; e++)
      make(tasks[e], e, spans.first(e), spans.length(e), *call.out[0]);
    gemm_many(call, tasks, spans.count);
  }

  void count_scratch(ScratchSizes& sizes) const {
    sizes.add_shared(kGemmTasks, size_t(b.dims[0]) * sizeof(GemmTask));
    gemm_many_scratch(largest(), b.dims[0], sizes);
  }
};

Linear linear_nt(const Call& call) {
  const auto attrs = ExpertMatmulNtAttrs::read(call.attrs);
  const auto in = [&](int i) { return call.in[i]; };
  const Tensor* amax = in(expert_matmul_nt_in::a_amax);
  return {*in(expert_matmul_nt_in::a), *in(expert_matmul_nt_in::b), in(expert_matmul_nt_in::a2),
      in(expert_matmul_nt_in::b2), in(expert_matmul_nt_in::addend), in(expert_matmul_nt_in::bias), true,
      attrs.alpha, attrs.arithmetic,
      is_scaled(attrs.arithmetic) ? rounding_of(attrs.arithmetic, false, amax) : Rounding{}};
}

Linear linear_nn(const Call& call) {
  const auto attrs = ExpertMatmulNnAttrs::read(call.attrs);
  const auto in = [&](int i) { return call.in[i]; };
  return {*in(expert_matmul_nn_in::a), *in(expert_matmul_nn_in::b), in(expert_matmul_nn_in::a2),
      in(expert_matmul_nn_in::b2), in(expert_matmul_nn_in::addend), nullptr, false, attrs.alpha,
      attrs.arithmetic,
      is_scaled(attrs.arithmetic) ? gradient_rounding(attrs.arithmetic, in(expert_matmul_nn_in::a_amax),
                                        in(expert_matmul_nn_in::random), attrs.stream)
                                  : Rounding{}};
}

// The side with fewer columns is the left one, so that the long side runs along vectors.
struct WeightGrad {
  const Tensor &a, &b;
  bool is_transposed;
  explicit WeightGrad(const Call& call)
      : a(*call.in[expert_matmul_tn_in::a]),
        b(*call.in[expert_matmul_tn_in::b]),
        is_transposed(a.dims[1] > b.dims[1]) {}
  const Tensor& left() const { return is_transposed ? b : a; }
  const Tensor& right() const { return is_transposed ? a : b; }
};

}  // namespace

void expert_matmul_nt(Call& call) { linear_nt(call).run(call, *call.in[expert_matmul_nt_in::ends]); }
void expert_matmul_nn(Call& call) { linear_nn(call).run(call, *call.in[expert_matmul_nn_in::ends]); }
void expert_matmul_nt_scratch(const Call& call, ScratchSizes& sizes) { linear_nt(call).count_scratch(sizes); }
void expert_matmul_nn_scratch(const Call& call, ScratchSizes& sizes) { linear_nn(call).count_scratch(sizes); }

void expert_matmul_tn(Call& call) {
  const auto attrs = ExpertMatmulTnAttrs::read(call.attrs);
  const WeightGrad w(call);
  const Spans spans(*call.in[expert_matmul_tn_in::ends], w.a.dims[0]);
  GemmTask* tasks = list_of(call, spans.count);
  for (int64_t e = 0; e < spans.count; e++) {
    const int64_t first = spans.first(e), rows = spans.length(e);
    const Operand left{stored_of(rows_of(w.left(), first, rows)), false},
        right{stored_of(rows_of(w.right(), first, rows)), false};
    tasks[e] = {{w.left().dims[1], w.right().dims[1], {{left, right, rows}, {}}, attrs.alpha,
                    attrs.arithmetic, nullptr, matrix_of(*call.out[0], e)},
        {}, {}};
    tasks[e].g.is_transposed = w.is_transposed;
  }
  gemm_many(call, tasks, spans.count);
}

void expert_matmul_tn_scratch(const Call& call, ScratchSizes& sizes) {
  const WeightGrad w(call);
  const int64_t experts = call.in[expert_matmul_tn_in::ends]->count;
  sizes.add_shared(kGemmTasks, size_t(experts) * sizeof(GemmTask));
  gemm_many_scratch(
      {ExpertMatmulTnAttrs::read(call.attrs).arithmetic, w.left().dims[1], w.a.dims[0], 0}, experts, sizes);
}

void expert_bias_grad(Call& call) {
  const Tensor& dy = *call.in[expert_bias_grad_in::dy];
  const Spans spans(*call.in[expert_bias_grad_in::ends], dy.dims[0]);
  float* dbias = floats_of(*call.out[expert_bias_grad_out::dbias]);
  const int64_t columns = dy.dims[1];
  parallel(call, spans.count, [&](int64_t e, int thread) {
    float *scratch = row_slot(call, thread, 0, columns), *sums = dbias + e * columns;
    std::memset(sums, 0, size_t(columns) * 4);
    for (int64_t row = spans.first(e); row < spans.first(e) + spans.length(e); row++) {
      const float* values = read_row(dy, row * columns, columns, scratch);
      for (int64_t i = 0; i < columns; i++) sums[i] += values[i];
    }
  });
}

void expert_bias_grad_scratch(const Call& call, ScratchSizes& sizes) {
  add_row_slots(sizes, 1, call.in[expert_bias_grad_in::dy]->dims[1]);
}

}  // namespace cairn::CAIRN_ISA
