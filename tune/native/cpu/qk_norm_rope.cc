// Norm of each head, then rotation of its halves or of neighbours, in one pass over q or k.
#include <stdexcept>

#include "access.h"
#include "kernels.h"

namespace cairn::CAIRN_ISA {

namespace {

constexpr int64_t kMaxHead = 1024;

// Sizes shared by the op and its gradients.
struct Heads {
  int64_t rows, heads, width,
      rotated;  // rotated: the number of rotary dimensions of a head; those after them stay unchanged
  const int32_t* positions;
  const float* cos_sin;
  int64_t limit;
  // Pair i has numbers i·step and i·step + distance.
  int64_t step, distance;

  Heads(const Tensor& x, int32_t heads, const Tensor& positions, const Tensor& cos_sin, bool interleaved)
      : rows(x.dims[0]),
        heads(heads),
        width(x.dims[1] / heads),
        rotated(cos_sin.dims[1]),
        positions(ints_of(positions)),
        cos_sin(floats_of(cos_sin)),
        limit(cos_sin.dims[0]),
        step(interleaved ? 2 : 1),
        distance(interleaved ? 1 : rotated / 2) {
    if (width > kMaxHead) throw std::runtime_error("a head must have a size up to 1024");
    if (rotated > width || rotated % 2)
      throw std::runtime_error("a row of cos_sin must be even and no wider than a head");
    for (int64_t t = 0; t < rows; t++)
      if (this->positions[t] < 0 || this->positions[t] >= limit)
        throw std::runtime_error("a position lies beyond the rows of cos_sin");
  }

  const float* cosines(int64_t t) const { return cos_sin + positions[t] * rotated; }
};

inline void rotate(const Heads& h, const float* in, const float* cosines, float direction, float* out) {
  const int64_t half = h.rotated / 2;
  const float* sines = cosines + half;
  for (int64_t i = 0; i < half; i++) {
    const int64_t first = i * h.step, second = first + h.distance;
    const float p = in[first], q = in[second], s = direction * sines[i];
    out[first] = p * cosines[i] - q * s;
    out[second] = p * s + q * cosines[i];
  }
  for (int64_t i = h.rotated; i < h.width; i++) out[i] = in[i];
}

}  // namespace

void qk_norm_rope(Call& call) {
  const Tensor &x = *call.in[qk_norm_rope_in::x], &y = *call.out[qk_norm_rope_out::y];
  const Tensor* weight = call.in[qk_norm_rope_in::weight];
  const auto attrs = QkNormRopeAttrs::read(call.attrs);
  const Heads h(x, attrs.heads, *call.in[qk_norm_rope_in::positions], *call.in[qk_norm_rope_in::cos_sin],
      attrs.interleaved != 0);
  float* rstd = floats_of(*call.out[qk_norm_rope_out::rstd]);
  parallel_spans(call, h.rows, kRowsPerTask, [&](int64_t first, int64_t last, int) {
    float w_scratch[kMaxHead], x_scratch[kMaxHead], y_scratch[kMaxHead], normed[kMaxHead];
    const float* w = weight ? read_weight(*weight, h.width, attrs.weight_offset, w_scratch) : nullptr;
    for (int64_t t = first; t < last; t++) {
      for (int64_t head = 0; head < h.heads; head++) {
        const int64_t at = (t * h.heads + head) * h.width;
        const float* in = read_row(x, at, h.width, x_scratch);
        float r = 1;
        if (w) {
          r = 1.0f / square_root(dot(in, in, h.width) / float(h.width) + attrs.eps);
          for (int64_t i = 0; i < h.width; i++) normed[i] = in[i] * r * w[i];
          in = normed;
        }
        rstd[t * h.heads + head] = r;
        float* out = row_scratch(y, at, y_scratch);
        rotate(h, in, h.cosines(t), 1, out);
        write_row(y, at, h.width, out);
      }
    }
  });
}

void qk_norm_rope_grad(Call& call) {
  const Tensor &dy = *call.in[qk_norm_rope_grad_in::dy], &x = *call.in[qk_norm_rope_grad_in::x],
               &dx = *call.out[qk_norm_rope_grad_out::dx];
  const Tensor* weight = call.in[qk_norm_rope_grad_in::weight];
  const auto attrs = QkNormRopeGradAttrs::read(call.attrs);
  const Heads h(
      x, attrs.heads, *call.in[qk_norm_rope_grad_in::positions], *call.in[qk_norm_rope_grad_in::cos_sin],
      attrs.interleaved != 0);
  const float* rstd = floats_of(*call.in[qk_norm_rope_grad_in::rstd]);
  parallel_spans(call, h.rows, kRowsPerTask, [&](int64_t first, int64_t last, int) {
    float w_scratch[kMaxHead], x_scratch[kMaxHead], dy_scratch[kMaxHead], dx_scratch[kMaxHead],
        back[kMaxHead];
    const float* w = weight ? read_weight(*weight, h.width, attrs.weight_offset, w_scratch) : nullptr;
    for (int64_t t = first; t < last; t++) {
      for (int64_t head = 0; head < h.heads; head++) {
        const int64_t at = (t * h.heads + head) * h.width;
        rotate(h, read_row(dy, at, h.width, dy_scratch), h.cosines(t), -1, back);
        float* out = row_scratch(dx, at, dx_scratch);
        if (w) {
          const float* in = read_row(x, at, h.width, x_scratch);
          const float r = rstd[t * h.heads + head],
                      pull = dot3(back, w, in, h.width) * r * r / float(h.width);
          for (int64_t i = 0; i < h.width; i++) out[i] = r * (back[i] * w[i] - in[i] * pull);
        } else {
          std::memcpy(out, back, size_t(h.width) * 4);
        }
        write_row(dx, at, h.width, out);
      }
    }
  });
}

constexpr int64_t kRowsPerSum = 64;

void qk_norm_rope_weight_grad_scratch(const Call& call, ScratchSizes& sizes) {
  const Tensor& x = *call.in[qk_norm_rope_weight_grad_in::x];
  sizes.add_shared(0, size_t(ceil_div(x.dims[0], kRowsPerSum) *
                             (x.dims[1] / QkNormRopeWeightGradAttrs::read(call.attrs).heads)) *
                          4);
}

// Rows are summed in spans of fixed size, and the spans in order.
void qk_norm_rope_weight_grad(Call& call) {
  const Tensor &dy = *call.in[qk_norm_rope_weight_grad_in::dy], &x = *call.in[qk_norm_rope_weight_grad_in::x];
  const auto attrs = QkNormRopeWeightGradAttrs::read(call.attrs);
  const Heads h(x, attrs.heads, *call.in[qk_norm_rope_weight_grad_in::positions],
      *call.in[qk_norm_rope_weight_grad_in::cos_sin], attrs.interleaved != 0);
  const float* rstd = floats_of(*call.in[qk_norm_rope_weight_grad_in::rstd]);
  float* dweight = floats_of(*call.out[qk_norm_rope_weight_grad_out::dweight]);
  const int64_t spans = ceil_div(h.rows, kRowsPerSum);
  float* partial = static_cast<float*>(shared_scratch(call.scratch, 0, size_t(spans * h.width) * 4));
  parallel_spans(call, h.rows, kRowsPerSum, [&](int64_t first, int64_t last, int) {
    float x_scratch[kMaxHead], dy_scratch[kMaxHead], back[kMaxHead];
    float* sum = partial + first / kRowsPerSum * h.width;
    std::memset(sum, 0, size_t(h.width) * 4);
    for (int64_t t = first; t < last; t++) {
      for (int64_t head = 0; head < h.heads; head++) {
        const int64_t at = (t * h.heads + head) * h.width;
        rotate(h, read_row(dy, at, h.width, dy_scratch), h.cosines(t), -1, back);
        const float* in = read_row(x, at, h.width, x_scratch);
        const float r = rstd[t * h.heads + head];
        for (int64_t i = 0; i < h.width; i++) sum[i] += back[i] * in[i] * r;
      }
    }
  });
  for (int64_t i = 0; i < h.width; i++) {
    float sum = 0;
    for (int64_t span = 0; span < spans; span++) sum += partial[span * h.width + i];
    dweight[i] = sum;
  }
}

}  // namespace cairn::CAIRN_ISA
