// The launches of a product according to its plan.
#include <stdexcept>
#include <string_view>

#include "../../cuda/matmul_bulk.h"
#include "../../cuda/matmul_f32.h"
#include "../../cuda/stage.h"
#include "../../cuda/unpack.h"
#include "fp4_operands.h"
#include "fp8_operands.h"
#include "matmul_plan.h"

namespace cairn::device {

namespace {

const Matrix& operand(const MatmulSpec& p, int i) { return i % 2 == 0 ? p.pair[i / 2].a : p.pair[i / 2].b; }
int64_t stride_of(const Matrix& m) { return align_up(m.columns, kRun); }
int64_t staged_bytes(const Matrix& m, const Plan& plan) {
  return align_up(m.rows * m.matrices * stride_of(m) * plan.element(), 256);
}
int64_t code_bytes(const MatmulSpec& p, const Plan& plan) {
  return plan.codes == Codes::fp8 ? fp8_bytes(p) : plan.codes == Codes::fp4 ? fp4_bytes(p) : 0;
}
int64_t staged_bytes(const MatmulSpec& p, const Plan& plan) {
  int64_t bytes = code_bytes(p, plan);
  for (int i = 0; i < 4; i++)
    if (plan.staged[i] || (i == 1 && plan.unpacks)) bytes += staged_bytes(operand(p, i), plan);
  return bytes;
}
int64_t partial_count(const MatmulSpec& p, const Plan& plan) {
  return plan.splits > 1 ? plan.splits * p.m * p.n : 0;
}
// Tiles whose sums several blocks share, and the last of them adds up.
int64_t shared_tiles(const MatmulSpec& p, const Plan& plan) {
  return plan.splits > 1 && !plan.is_bulk ? blocks_in(p, plan.tiles) : 0;
}

// Operands as the kernel reads them, after staging.
struct Operands {
  const void* data[4] = {};
  int64_t stride[4] = {}, next[4] = {};
  Dtype dtype[4] = {};
};

// In names of kernels that write the gradients of a gated unit.
constexpr const char* kUnitGrad = "swiglu_grad_";

Operands stage(DeviceCall& call, const MatmulSpec& p, const Plan& plan, char* space) {
  Operands made;
  cuda::Stage params{};
  space += code_bytes(p, plan);
  int64_t runs = 0;
  for (int i = 0; i < (has_second(p) ? 4 : 2); i++) {
    const Matrix& m = operand(p, i);
    made.data[i] = m.stored.part[0];
    made.stride[i] = m.columns;
    made.dtype[i] = m.stored.dtype;
    made.next[i] = m.matrices > 1 ? m.rows * m.columns : 0;
    if (!plan.staged[i] && !(i == 1 && plan.unpacks)) continue;
    made.data[i] = space;
    made.stride[i] = stride_of(m);
    made.dtype[i] = plan.in_f32 ? Dtype::f32 : Dtype::bf16;
    made.next[i] = m.matrices > 1 ? m.rows * stride_of(m) : 0;
    if (!plan.staged[i]) {
      space += staged_bytes(m, plan);
      continue;
    }
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

cuda::Matmul result_of(const MatmulSpec& p, const Plan& plan, const Operands& o, const Workspace& space) {
  cuda::Matmul r{};
  for (int i = 0; i < 2; i++) {
    r.k[i] = int32_t(plan.k[i]);
    r.b_next[i] = o.next[2 * i + 1];
  }
  r.m = int32_t(p.m);
  r.n = int32_t(p.n);
  r.splits = int32_t(plan.splits);
  r.partial = space.partial;
  r.arrived = space.arrived;
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
  r.gate = data_of<uint16_t>(p.gate);
  r.up = data_of<uint16_t>(p.up);
  r.dup = static_cast<uint16_t*>(p.dup);
  return r;
}

void multiply_f32(DeviceCall& call, const MatmulSpec& p, const Operands& o, const cuda::Matmul& result) {
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

template <typename Params>
void multiply_tiles(DeviceCall& call, const MatmulSpec& p, const Plan& plan, const Params& params,
    const char* form) {
  const Tiles& tiles = plan.tiles;
  const bool decodes = plan.decoder && !plan.unpacks;
  std::string name = std::string(tiles.prefix) + "_" + form + "_";
  if (p.gate) name += kUnitGrad;
  if (decodes) name += std::string(plan.decoder) + "_";
  name += std::to_string(tiles.columns);
  call.launch(decodes ? "matmul_stored" : tiles.module, name.c_str(),
      {row_tiles(p, tiles.rows) * blocks_of(p.n, tiles.columns), plan.splits, matrices_of(p)}, tiles.threads,
      params, int(tiles.shared()));
}

// Operand i, which has `across` rows or columns across k. A tile of it is one box if its rows run along k,
// and several boxes of 64 columns if they run across.
BoxedMatrix boxes_of(const Operands& o, int i, int64_t across, int64_t k, bool along_k, int tile) {
  if (along_k) return {o.data[i], across, k, o.stride[i], tile};
  return {o.data[i], k, across, o.stride[i], kBulk.depth};
}

// One block a processor, which computes tiles until none are left. No result depends on their number.
void multiply_bulk(DeviceCall& call, const MatmulSpec& p, const Plan& plan, const Operands& o,
    const cuda::Matmul& product, const char* form) {
  cuda::BulkMatmul params{{}, {}, product, plan.split_depth};
  for (int i = 0; i < (has_second(p) ? 2 : 1); i++) {
    params.a[i] = call.tensor_map(boxes_of(o, 2 * i, p.m, plan.k[i], p.form != Form::tn, kBulk.rows));
    params.b[i] =
        call.tensor_map(boxes_of(o, 2 * i + 1, p.n, plan.k[i], p.form == Form::nt, kBulk.columns));
  }
  const int64_t blocks = std::max<int64_t>(call.device().processors / plan.splits, 1);
  const std::string name = std::string(kBulk.prefix) + "_" + form + "_" + (p.gate ? kUnitGrad : "") + "256";
  call.launch(kBulk.module, name.c_str(), {std::min(blocks_in(p, kBulk), blocks), plan.splits},
      kBulk.threads, params, int(kBulk.shared()));
  if (plan.splits > 1)
    call.launch("matmul_bulk", "bulk_finish", {std::min<int64_t>(blocks_of(p.m * p.n, 256), 1024)}, 256,
        product);
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

bool can_grad_unit(const DeviceInfo& device, const MatmulSpec& p) {
  const Plan plan(device, p);
  const bool has_kernel =
      plan.is_bulk ? plan.splits == 1 : std::string_view(plan.tiles.module) == kGroups.module;
  return has_kernel && !device.is_classic && p.form == Form::nn && !p.addend && p.n % 2 == 0 &&
         p.y_dtype == Dtype::bf16;
}

Workspace workspace_of(DeviceCall& call, std::initializer_list<const MatmulSpec*> specs) {
  int64_t staged = 0, partial = 0, shared = 0;
  for (const MatmulSpec* p : specs) {
    const Plan plan(call.device(), *p);
    staged = std::max(staged, staged_bytes(*p, plan));
    partial = std::max(partial, partial_count(*p, plan));
    shared = std::max(shared, shared_tiles(*p, plan));
  }
  return {staged > 0 ? call.scratch(kStagedSlot, staged) : nullptr,
      partial > 0 ? call.scratch<float>(kPartialSlot, partial) : nullptr,
      shared > 0 ? call.counters(shared) : nullptr};
}

void multiply(DeviceCall& call, const MatmulSpec& p, const Workspace& workspace) {
  if (p.m > INT32_MAX || p.n > INT32_MAX || p.pair[0].a.columns > INT32_MAX)
    throw std::runtime_error("a side of a product is longer than 2^31");
  if (is_rounded(p.arithmetic) && !p.a_amax)
    throw std::runtime_error("this arithmetic needs a_amax");
  const Plan plan(call.device(), p);
  const Operands o = stage(call, p, plan, workspace.staged);
  cuda::Matmul params = result_of(p, plan, o, workspace);
  if (plan.in_f32) return multiply_f32(call, p, o, params);
  for (int i = 0; i < 2; i++) {
    params.a[i] = static_cast<const uint16_t*>(o.data[2 * i]);
    params.b[i] = static_cast<const uint16_t*>(o.data[2 * i + 1]);
    params.lda[i] = o.stride[2 * i];
    params.ldb[i] = o.stride[2 * i + 1];
  }
  const char* const forms[] = {"nt", "nn", "tn"};
  if (plan.unpacks) {
    const Matrix& b = p.pair[0].b;
    const cuda::Unpack unpacked{params, static_cast<uint16_t*>(const_cast<void*>(o.data[1])),
        b.rows * b.columns / kRun};
    call.launch("unpack", (std::string("unpack_") + plan.decoder).c_str(), {blocks_of(unpacked.runs, 256)},
        256, unpacked);
  }
  const char* const form = forms[int(p.form)];
  if (plan.codes == Codes::fp8)
    multiply_tiles(call, p, plan, with_fp8_operands(call, p, params, workspace.staged), form);
  else if (plan.codes == Codes::fp4)
    multiply_tiles(call, p, plan, with_fp4_operands(call, p, params, workspace.staged), form);
  else if (plan.is_bulk) multiply_bulk(call, p, plan, o, params, form);
  else multiply_tiles(call, p, plan, params, form);
}

}  // namespace cairn::device
