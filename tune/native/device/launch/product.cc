// Chooses the kernel of a product and what it reads. Everything follows from shapes, dtypes and attributes.
#include "product.h"

#include <algorithm>
#include <stdexcept>

#include "../../cuda/matmul_f32.h"
#include "../../cuda/stage.h"

namespace cairn::device {

namespace {

constexpr int kRun = 16;

// A kernel's tile of the result, and how it walks along k.
struct Tiles {
  const char *module, *prefix;
  int rows, columns, depth, buffers, threads;

  int64_t shared() const { return int64_t(buffers) * (rows + columns) * depth * 2; }
};
constexpr Tiles kSmall{"matmul", "matmul", 64, 64, 32, 3, 128},
    kLarge{"matmul", "matmul", 128, 128, 32, 3, 256},
    kGroups{"matmul_wgmma", "wgmma", 128, 128, 64, 4, 256},
    kWideGroups{"matmul_wgmma", "wgmma", 128, 256, 64, 4, 256};

bool is_float(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::bf16; }
bool is_rounded(Arithmetic a) { return a == Arithmetic::fp8_hybrid || a == Arithmetic::nvfp4; }

// Name of the kernel that decodes a weight on the way to shared memory, or null.
const char* decoder_of(const Matrix& b) {
  if (b.columns % kRun != 0) return nullptr;
  switch (b.stored.dtype) {
    case Dtype::fp8_tiles: return "fp8_tiles";
    case Dtype::fp8_tensor: return "fp8_tensor";
    case Dtype::nvfp4: return "nvfp4";
    case Dtype::mxfp4: return "mxfp4";
    case Dtype::nf4: return "nf4";
    default: return nullptr;
  }
}

cuda::Grid grid_of(const Product& p) {
  if (p.arithmetic == Arithmetic::fp8_hybrid) return p.is_gradient ? cuda::Grid::e5m2 : cuda::Grid::e4m3;
  if (p.arithmetic != Arithmetic::nvfp4) return cuda::Grid::none;
  return p.is_gradient && p.random ? cuda::Grid::nvfp4_stochastic : cuda::Grid::nvfp4;
}

bool has_second(const Product& p) { return p.pair[1].a.columns > 0; }
bool is_scaled_weight(const Product& p) {
  return is_rounded(p.arithmetic) &&
         (p.pair[0].b.stored.dtype == Dtype::nvfp4 || p.pair[0].b.stored.dtype == Dtype::fp8_tensor);
}

int64_t row_tiles(const Product& p, int64_t size) {
  return p.ends && p.form != Form::tn ? p.m / size + p.ends->count : blocks_of(p.m, size);
}
int64_t matrices_of(const Product& p) { return p.ends && p.form == Form::tn ? p.ends->count : 1; }
int64_t blocks_in(const Product& p, const Tiles& tiles) {
  return row_tiles(p, tiles.rows) * blocks_of(p.n, tiles.columns) * matrices_of(p);
}

// Sizes and kernel, from shapes and the card's kind alone.
struct Plan {
  bool in_f32;
  // Which operands are staged: a, b, a2, b2.
  bool staged[4] = {};
  const char* decoder = nullptr;
  Tiles tiles = kSmall;
  int64_t splits = 1;
  int64_t k[2];

  Plan(const DeviceInfo& device, const Product& p) : in_f32(p.arithmetic == Arithmetic::f32) {
    for (int i = 0; i < 2; i++) k[i] = p.form == Form::tn ? p.pair[i].a.rows : p.pair[i].a.columns;
    if (!in_f32) decoder = p.form == Form::tn ? nullptr : decoder_of(p.pair[0].b);
    for (int i = 0; i < 4; i++) {
      if (i >= 2 && !has_second(p)) continue;
      const Matrix& m = i % 2 == 0 ? p.pair[i / 2].a : p.pair[i / 2].b;
      // Sizes are asked for before there is data; tensors begin at multiples of 16 bytes, rows do if they are
      // whole eights.
      const bool lies = m.stored.dtype == Dtype::bf16 && m.columns % 8 == 0 && m.next % 16 == 0;
      staged[i] = in_f32 ? !is_float(m.stored.dtype)
                         : i == 0 ? !lies || is_rounded(p.arithmetic) : i == 1 && decoder ? false : !lies;
    }
    if (in_f32) return;
    constexpr int64_t kEnough = 120;
    if (blocks_in(p, kLarge) >= kEnough) tiles = kLarge;
    if (device.capability == 90 && !decoder && tiles.rows == kLarge.rows)
      tiles = blocks_in(p, kWideGroups) >= kEnough ? kWideGroups : kGroups;
    const int64_t blocks = blocks_in(p, tiles),
                  steps = blocks_of(k[0], tiles.depth) + blocks_of(k[1], tiles.depth);
    if (!p.ends && !p.live_rows && blocks < kEnough)
      splits = std::max<int64_t>(1, std::min({256 / std::max<int64_t>(blocks, 1), steps / 16, int64_t(16)}));
  }

  int64_t element() const { return in_f32 ? 4 : 2; }
};

const Matrix& operand(const Product& p, int i) { return i % 2 == 0 ? p.pair[i / 2].a : p.pair[i / 2].b; }
int64_t stride_of(const Matrix& m) { return align_up(m.columns, kRun); }
int64_t staged_bytes(const Matrix& m, const Plan& plan) {
  return align_up(m.rows * m.matrices * stride_of(m) * plan.element(), 256);
}
int64_t staged_bytes(const Product& p, const Plan& plan) {
  int64_t bytes = 0;
  for (int i = 0; i < 4; i++)
    if (plan.staged[i]) bytes += staged_bytes(operand(p, i), plan);
  return bytes;
}
int64_t partial_count(const Product& p, const Plan& plan) {
  return plan.splits > 1 ? plan.splits * p.m * p.n : 0;
}

// Operands as the kernel reads them, after what had to be staged has been.
struct Operands {
  const void* data[4] = {};
  int64_t stride[4] = {}, next[4] = {};
  Dtype dtype[4] = {};
};

Operands stage(DeviceCall& call, const Product& p, const Plan& plan, char* space) {
  Operands made;
  cuda::Stage params{};
  int64_t runs = 0;
  for (int i = 0; i < (has_second(p) ? 4 : 2); i++) {
    const Matrix& m = operand(p, i);
    made.data[i] = m.stored.part[0];
    made.stride[i] = m.columns;
    made.dtype[i] = m.stored.dtype;
    made.next[i] = m.matrices > 1 ? m.rows * m.columns : 0;
    if (!plan.staged[i]) continue;
    made.data[i] = space;
    made.stride[i] = stride_of(m);
    made.dtype[i] = plan.in_f32 ? Dtype::f32 : Dtype::bf16;
    made.next[i] = m.matrices > 1 ? m.rows * stride_of(m) : 0;
    runs += m.rows * m.matrices * stride_of(m) / kRun;
    const bool is_rounded_side = i == 0 && is_rounded(p.arithmetic);
    params.runs[params.count] = runs;
    params.matrix[params.count++] = {m.stored, space, m.rows * m.matrices, stride_of(m),
        std::max<int64_t>(m.rows, 1), m.next, is_rounded_side ? grid_of(p) : cuda::Grid::none, plan.in_f32,
        data_of<float>(p.a_amax), data_of<int32_t>(p.random), p.stream, i == 1 && is_scaled_weight(p)};
    space += staged_bytes(m, plan);
  }
  if (runs > 0) call.launch("stage", "stage", {blocks_of(runs, 256)}, 256, params);
  return made;
}

cuda::Matmul result_of(const Product& p, const Plan& plan, const Operands& o, float* partial) {
  cuda::Matmul r{};
  for (int i = 0; i < 2; i++) {
    r.k[i] = int32_t(plan.k[i]);
    r.b_next[i] = o.next[2 * i + 1];
  }
  r.m = int32_t(p.m);
  r.n = int32_t(p.n);
  r.splits = int32_t(plan.splits);
  r.partial = partial;
  if (p.ends) r.ends = data_of<int32_t>(p.ends), r.experts = int32_t(p.ends->count);
  r.live_rows = p.live_rows;
  r.first_row = p.first_row;
  r.grid = grid_of(p);
  r.a_amax = data_of<float>(p.a_amax);
  const Matrix& b = p.pair[0].b;
  if (is_scaled_weight(p)) r.tensor_scale = b.stored.part[b.stored.dtype == Dtype::nvfp4 ? 2 : 1];
  r.weight = b.stored;
  r.weight_next = b.next;
  r.alpha = p.alpha;
  if (p.bias) r.bias = p.bias->data, r.bias_dtype = p.bias->dtype;
  if (p.addend) r.addend = p.addend->data, r.addend_dtype = p.addend->dtype;
  r.y = p.y;
  r.y_dtype = p.y_dtype;
  return r;
}

void multiply_f32(DeviceCall& call, const Product& p, const Operands& o, const cuda::Matmul& result) {
  cuda::MatmulF32 params{result, {}, {}, p.form == Form::tn, 0};
  for (int i = 0; i < (has_second(p) ? 2 : 1); i++) {
    const bool a_along = p.form != Form::tn, b_along = p.form == Form::nt;
    const int64_t a = o.stride[2 * i], b = o.stride[2 * i + 1];
    params.a[i] = {o.data[2 * i], a_along ? a : 1, a_along ? 1 : a, o.dtype[2 * i], 0};
    params.b[i] = {o.data[2 * i + 1], b_along ? b : 1, b_along ? 1 : b, o.dtype[2 * i + 1], 0};
  }
  const Grid grid{row_tiles(p, 64), blocks_of(p.n, 64), matrices_of(p)};
  call.launch("matmul_f32", "matmul_f32", grid, 256, params);
}

}  // namespace

Matrix floats_at(const void* data, Dtype dtype, int64_t rows, int64_t columns) {
  return {{dtype, 0, columns, {data}}, rows, columns, 1, 0};
}

Matrix matrix_of(const Tensor& t) {
  if (t.rank < 3) return {stored_of(t), t.dims[0], t.dims[1], 1, 0};
  const int64_t rows = t.dims[1], columns = t.dims[2];
  const Tensor first{t.dtype, 2, {rows, columns}, rows * columns, t.data};
  return {stored_of(first), rows, columns, t.dims[0], matrix_stride(t.dtype, rows, columns)};
}

Workspace workspace_of(DeviceCall& call, std::initializer_list<const Product*> products) {
  int64_t staged = 0, partial = 0;
  for (const Product* p : products) {
    const Plan plan(call.device(), *p);
    staged = std::max(staged, staged_bytes(*p, plan));
    partial = std::max(partial, partial_count(*p, plan));
  }
  return {staged > 0 ? call.scratch(kStagedSlot, staged) : nullptr,
      partial > 0 ? call.scratch<float>(kPartialSlot, partial) : nullptr};
}

void multiply(DeviceCall& call, const Product& p, const Workspace& workspace) {
  if (p.m > INT32_MAX || p.n > INT32_MAX || p.pair[0].a.columns > INT32_MAX)
    throw std::runtime_error("a side of a product is longer than 2^31");
  if (is_rounded(p.arithmetic) && !p.a_amax)
    throw std::runtime_error("this arithmetic needs a_amax");
  const Plan plan(call.device(), p);
  const Operands o = stage(call, p, plan, workspace.staged);
  cuda::Matmul params = result_of(p, plan, o, workspace.partial);
  if (plan.in_f32) return multiply_f32(call, p, o, params);
  for (int i = 0; i < 2; i++) {
    params.a[i] = static_cast<const uint16_t*>(o.data[2 * i]);
    params.b[i] = static_cast<const uint16_t*>(o.data[2 * i + 1]);
    params.lda[i] = o.stride[2 * i];
    params.ldb[i] = o.stride[2 * i + 1];
  }
  const char* const forms[] = {"nt", "nn", "tn"};
  const Tiles& tiles = plan.tiles;
  std::string name = std::string(tiles.prefix) + "_" + forms[int(p.form)] + "_";
  if (plan.decoder) name += std::string(plan.decoder) + "_";
  name += std::to_string(tiles.columns);
  call.launch(plan.decoder ? "matmul_stored" : tiles.module, name.c_str(),
      {row_tiles(p, tiles.rows) * blocks_of(p.n, tiles.columns), plan.splits, matrices_of(p)}, tiles.threads,
      params, int(tiles.shared()));
  if (plan.splits > 1)
    call.launch("matmul", "matmul_finish", {std::min<int64_t>(blocks_of(p.m * p.n, 256), 1024)}, 256, params);
}

}  // namespace cairn::device
