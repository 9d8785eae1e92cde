// Which products have few columns, and their launch. The plan of a product gives the kernel that it replaces,
// and where that divides its sums.
#include "thin.h"

#include <optional>

#include "../../cuda/thin.h"
#include "matmul_plan.h"

namespace cairn::device {

namespace {

using cuda::kMaxParts;
using cuda::kMaxSections;
using cuda::kPart;
using cuda::ThinForm;

// A product as thin.cu computes it.
struct Product {
  ThinForm form;
  const Tensor *wide, *thin, *y, *addend;
  float alpha;
  bool is_transposed;
  int64_t splits;
  int split_depth;

  // Columns of the thin operand, which are its rows in nt.
  int64_t columns() const { return thin->dims[form == ThinForm::nt ? 0 : 1]; }
  int parts() const { return int(blocks_of(columns(), kPart)); }
  int64_t tiles() const { return blocks_of(wide->dims[form == ThinForm::tn ? 1 : 0], cuda::kThinTile); }
  bool shares_section(const Product& other) const { return form == other.form && wide == other.wide; }
};

std::optional<Product> product_of(Op op, const DeviceCall& call) {
  if (op != Op::matmul_nt && op != Op::matmul_nn && op != Op::matmul_tn) return {};
  const DeviceInfo& device = call.device();
  if (device.is_classic || device.is_row_invariant || device.bulk_products == BulkProducts::all) return {};
  const MatmulSpec spec = matmul_spec(op, call);
  const Form form = spec.form;
  // If both operands are thin, the one with fewer columns counts as the thin one.
  const bool is_left = form == Form::tn && spec.m < spec.n;
  if ((is_left ? spec.m : spec.n) > kMaxParts * kPart || spec.arithmetic != Arithmetic::bf16) return {};
  if (has_second(spec) || spec.bias) return {};
  if (spec.addend && (spec.addend->dtype != Dtype::f32 || spec.y_dtype != Dtype::f32)) return {};
  const Plan plan(device, spec);
  if (plan.staged[0] || plan.staged[1] || plan.decoder || plan.is_bulk) return {};
  const Tensor *a = call.in[0], *b = call.in[1];
  if (a->count == 0 || b->count == 0 || a->dims[0] > INT32_MAX || a->dims[1] > INT32_MAX) return {};
  return Product{form == Form::nt   ? ThinForm::nt
                 : form == Form::nn ? ThinForm::nn
                                    : ThinForm::tn,
      is_left ? b : a, is_left ? a : b, call.out[0], spec.addend, spec.alpha, is_left, plan.splits,
      plan.split_depth};
}

// Products that read one wide operand.
using Section = std::vector<Product>;

int parts_of(const Section& section) {
  int parts = 0;
  for (const Product& product : section) parts += product.parts();
  return parts;
}

// Adds a product to those of a launch. False if it has no room.
bool add_product(std::vector<Section>& sections, const Product& product) {
  for (Section& section : sections)
    if (section[0].shares_section(product) && parts_of(section) + product.parts() <= kMaxParts) {
      section.push_back(product);
      return true;
    }
  if (int(sections.size()) == kMaxSections) return false;
  sections.push_back({product});
  return true;
}

bool overlap(const Placement& one, const Placement& other) {
  if (one.is_bound || other.is_bound)
    return one.is_bound && other.is_bound && one.offset == other.offset;
  return one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
}

// Whether a step writes what another one reads or writes.
bool disturbs(const Program& program, const Step& writer, const Step& other) {
  const Placement& written = program.placements[size_t(writer.out[0])];
  if (overlap(written, program.placements[size_t(other.out[0])])) return true;
  for (int i = 0; i < kOps[int(other.op)].inputs; i++)
    if (other.in[i] >= 0 && overlap(written, program.placements[size_t(other.in[i])])) return true;
  return false;
}

cuda::ThinPart part_of(const Product& p, int index) {
  const int64_t column = int64_t(index) * kPart,
                at = p.form == ThinForm::nt ? column * p.thin->dims[1] : column;
  return {data_of<uint16_t>(p.thin) + at, p.y->data, data_of<float>(p.addend), int32_t(p.columns()),
      int32_t(column), p.alpha, p.y->dtype, p.is_transposed};
}

cuda::ThinSection section_of(const Section& products) {
  const Product& first = products[0];
  cuda::ThinSection section{};
  section.wide = data_of<uint16_t>(first.wide);
  section.rows = int32_t(first.wide->dims[0]);
  section.columns = int32_t(first.wide->dims[1]);
  section.form = first.form;
  section.tiles = int32_t(first.tiles());
  section.splits = int32_t(first.splits);
  section.split_depth = first.split_depth;
  int part = 0;
  for (const Product& product : products)
    for (int i = 0; i < product.parts(); i++) section.part[part++] = part_of(product, i);
  return section;
}

// Sizes and scratch of a launch, whose kernel multiplies as many parts as the widest section has.
struct Sizes {
  int parts = 0;
  int64_t blocks = 0, partial = 0, arrived = 0;

  void add(const cuda::ThinSection& s) {
    blocks += int64_t(s.tiles) * s.splits;
    if (s.splits < 2) return;
    partial += int64_t(s.tiles) * s.splits * cuda::kThinTile * parts * kPart;
    arrived += s.tiles;
  }
};

}  // namespace

size_t count_thin(const Program& program, const std::vector<DeviceCall>& calls, size_t first) {
  std::vector<Section> sections;
  size_t next = first;
  for (; next < calls.size(); next++) {
    const Step& step = program.steps[next];
    const auto product = product_of(step.op, calls[next]);
    if (!product) break;
    if (!sections.empty() && (sections[0][0].form == ThinForm::nt) != (product->form == ThinForm::nt)) break;
    bool is_independent = true;
    for (size_t i = first; i < next; i++)
      is_independent &=
          !disturbs(program, program.steps[i], step) && !disturbs(program, step, program.steps[i]);
    if (!is_independent || !add_product(sections, *product)) break;
  }
  return next - first;
}

void multiply_thin(const Program& program, std::vector<DeviceCall>& calls, size_t first, size_t count) {
  std::vector<Section> sections;
  for (size_t i = first; i < first + count; i++)
    add_product(sections, *product_of(program.steps[i].op, calls[i]));
  Sizes all;
  for (const Section& section : sections) all.parts = std::max(all.parts, (parts_of(section) + 1) / 2 * 2);
  cuda::Thin params{};
  for (const Section& section : sections) {
    params.section[params.sections] = section_of(section);
    params.section[params.sections++].first_block = int32_t(all.blocks);
    all.add(params.section[params.sections - 1]);
  }
  DeviceCall& call = calls[first];
  float* const partial = all.partial > 0 ? call.scratch<float>(kPartialSlot, all.partial) : nullptr;
  uint32_t* const arrived = all.arrived > 0 ? call.counters(all.arrived) : nullptr;
  Sizes before{all.parts};
  for (int i = 0; i < params.sections; i++) {
    params.section[i].partial = partial + before.partial;
    params.section[i].arrived = arrived + before.arrived;
    before.add(params.section[i]);
  }
  const bool is_nt = params.section[0].form == ThinForm::nt;
  const std::string name = std::string(is_nt ? "thin_nt_" : "thin_grad_") + std::to_string(all.parts * kPart);
  const int thin_bytes = is_nt ? all.parts * kPart * cuda::kThinDepth * 2 : cuda::kThinDepth * 128,
            stage_bytes = cuda::kThinTile * cuda::kThinDepth * 2 + thin_bytes;
  call.launch("thin", name.c_str(), {all.blocks}, cuda::kThinThreads, params,
      stage_bytes * (is_nt ? cuda::kInputStages : cuda::kGradientStages));
}

}  // namespace cairn::device
