// wgmma: products of four warps, which read their operands from shared memory or registers asynchronously.
//
// Each warp has 16 rows of the result and computes its own share. A product is computed when its group is
// waited for, so that overwriting its shared memory too early has a visible effect. Until then its
// accumulators hold NaN, and other instructions must not use its registers. Shared memory must hold the
// operands when the product is issued: it is checked then and again at the wait.
#include <map>

#include "../machine/cluster.h"
#include "group_operands.h"

namespace emulator {
namespace {

// Decoded from Instruction::detail. The instruction's list has the accumulators, then the registers of A.
struct Shape {
  u16 columns;
  Element a, b;
  bool negates_a : 1, negates_b : 1, a_across : 1, b_across : 1, a_in_registers : 1;

  u32 sums() const { return columns / 2; }
};

Shape shape_of(const Instruction& i) {
  Shape shape;
  std::memcpy(&shape, &i.detail, sizeof shape);
  return shape;
}

// Reads both operands, or only checks them if `a` and `b` are null.
void read_both(Warp& w, const GroupMatmul& matmul, float* a, float* b) {
  const Instruction& i = *matmul.at;
  Shape shape = shape_of(i);
  if (!shape.a_in_registers)
    read_rows(w, i, Matrix::read(w, i, matmul.a, shape.a_across), shape.a, w.index % 4 * 16, 16, a);
  else if (a) read_fragment(matmul.fragment, shape.a, a);
  read_rows(w, i, Matrix::read(w, i, matmul.b, shape.b_across), shape.b, 0, shape.columns, b);
}

// `held` has the accumulators as registers: register r of lane l at r · 32 + l.
void finish(Warp& w, const GroupMatmul& matmul, std::vector<float>& held) {
  Shape shape = shape_of(*matmul.at);
  u32 depth = depth_of(shape.a);
  std::vector<float> a(16 * depth), b(size_t(shape.columns) * depth);
  read_both(w, matmul, a.data(), b.data());
  if (shape.negates_a != shape.negates_b)
    for (float& value : a) value = -value;
  std::vector<float> across(b.size());
  for (u32 n = 0; n < shape.columns; ++n)
    for (u32 k = 0; k < depth; ++k) across[k * shape.columns + n] = b[n * depth + k];
  int cut_bits = bytes_of(shape.a) == 1 ? Settings::get().fp8_sum_bits : 0;
  std::vector<float> sums(shape.columns);
  for (u32 row = 0; row < 16; ++row) {
    auto place = [&](u32 n) -> float& {
      return held[(n / 8 * 4 + row / 8 * 2 + n % 2) * kLanes + row % 8 * 4 + n % 8 / 2];
    };
    for (u32 n = 0; n < shape.columns; ++n) sums[n] = matmul.accumulates ? place(n) : 0.0f;
    if (cut_bits) {
      for (u32 n = 0; n < shape.columns; ++n)
        sums[n] = add_products_cut(sums[n], &a[row * depth], &b[n * depth], depth, cut_bits);
    } else {
      for (u32 k = 0; k < depth; ++k) {
        float factor = a[row * depth + k];
        const float* column = &across[k * shape.columns];
        for (u32 n = 0; n < shape.columns; ++n) sums[n] = std::fma(factor, column[n], sums[n]);
      }
    }
    for (u32 n = 0; n < shape.columns; ++n) place(n) = sums[n];
  }
}

bool is_in_flight(const Warp& w, u32 slot) { return w.product_registers[slot / 64] > w.finished_groups; }

enum class Part { sums, fragment };

// The product in flight that has a register in this part of its list.
const Instruction* find_product(const Warp& w, u32 slot, Part part) {
  for (const GroupMatmul& matmul : w.matmuls) {
    u32 sums = shape_of(*matmul.at).sums();
    for (u32 r = 0; r < matmul.at->list_size; ++r)
      if (w.list(*matmul.at, r) == slot && (r < sums) == (part == Part::sums)) return matmul.at;
  }
  return nullptr;
}

[[noreturn]] void report_shared(
    const Warp& w, const Instruction& i, const char* does, const Instruction& at) {
  fault(w, i,
      std::string(does) + " registers of the wgmma of line " + std::to_string(at.line) +
          ", which no wgmma.wait_group has waited for");
}

// Products in flight may share their accumulators if they share all of them, and registers of A.
void claim_registers(Warp& w, const Instruction& i, const Shape& shape) {
  const u32* slots = &w.code->lists[i.list];
  const Instruction* same = nullptr;
  for (const GroupMatmul& matmul : w.matmuls)
    if (w.list(*matmul.at, 0) == slots[0]) same = matmul.at;
  if (same && (shape_of(*same).columns != shape.columns ||
                  !std::equal(slots, slots + shape.sums(), &w.code->lists[same->list])))
    report_shared(w, i, "adds to a part of the", *same);
  for (u32 r = 0; r < i.list_size; ++r) {
    bool is_sum = r < shape.sums();
    if (is_in_flight(w, slots[r]) && !(is_sum && same)) {
      const Instruction* sums = find_product(w, slots[r], Part::sums);
      if (sums) report_shared(w, i, is_sum ? "adds to a part of the" : "reads A from", *sums);
      const Instruction* fragment = find_product(w, slots[r], Part::fragment);
      if (is_sum && fragment) report_shared(w, i, "adds to", *fragment);
    }
    w.product_registers[slots[r] / 64] = w.product_groups + 1;
  }
}

void run_product(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "wgmma")) return;
  ++w.block->counts.mma;
  u32 lane = u32(std::countr_zero(w.mask));
  Shape shape = shape_of(i);
  GroupMatmul matmul{&i, shape.a_in_registers ? 0 : w.at<u64>(i.a)[lane], w.at<u64>(i.b)[lane],
      (w.predicate(i.c) >> lane & 1) != 0, w.product_groups, {}};
  w.block->step_group(w, i, matmul.a, matmul.b);
  claim_registers(w, i, shape);
  if (shape.a_in_registers) {
    matmul.fragment.resize(4 * kLanes);
    for (u32 r = 0; r < 4; ++r)
      std::memcpy(&matmul.fragment[r * kLanes], w.at<u32>(w.list(i, shape.sums() + r)), 4 * kLanes);
  }
  read_both(w, matmul, nullptr, nullptr);
  auto [held, is_new] = w.saved_sums.try_emplace(w.list(i, 0));
  if (is_new) {
    held->second.resize(shape.sums() * kLanes);
    for (u32 r = 0; r < shape.sums(); ++r) {
      float* sums = w.at<float>(w.list(i, r));
      std::memcpy(&held->second[r * kLanes], sums, sizeof(float) * kLanes);
      std::fill(sums, sums + kLanes, std::bit_cast<float>(0x7fffffffu));
    }
  }
  w.matmuls.push_back(std::move(matmul));
}

void run_commit(Warp& w, const Instruction&) { ++w.product_groups; }

void run_wait(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "wgmma.wait_group")) return;
  std::vector<GroupMatmul> left, done;
  for (GroupMatmul& matmul : w.matmuls)
    (matmul.group + i.detail < w.product_groups ? done : left).push_back(std::move(matmul));
  for (const GroupMatmul& matmul : done) finish(w, matmul, w.saved_sums.at(w.list(*matmul.at, 0)));
  // All lanes know that the operands were read, so each of them may release the shared memory.
  if (!done.empty()) w.block->cluster->clocks.sync_warp(id_of(w));
  w.matmuls = std::move(left);
  if (w.product_groups > i.detail)
    w.finished_groups = std::max(w.finished_groups, w.product_groups - u32(i.detail));
  for (const GroupMatmul& matmul : done) {
    u32 key = w.list(*matmul.at, 0);
    auto held = w.saved_sums.find(key);
    if (held == w.saved_sums.end() || is_in_flight(w, key)) continue;
    for (u32 r = 0; r < shape_of(*matmul.at).sums(); ++r)
      std::memcpy(w.at<float>(w.list(*matmul.at, r)), &held->second[r * kLanes], sizeof(float) * kLanes);
    w.saved_sums.erase(held);
  }
}

void run_nothing(Warp&, const Instruction&) {}

bool flag_of(const Decoder& decoder, const Operand& operand) {
  if (operand.kind != Operand::Kind::immediate) refuse(decoder.line(), "wgmma needs constants here");
  return operand.bits == 1;
}

// The formats of A and B, with the depth of their instruction.
Shape read_formats(const Statement& s) {
  static const std::map<std::string, Element> elements = {{"bf16", Element::bf16}, {"f16", Element::f16},
      {"tf32", Element::tf32}, {"e4m3", Element::e4m3}, {"e5m2", Element::e5m2}};
  auto is = [&](size_t at, const char* part) { return s.opcode.size() > at && s.opcode[at] == part; };
  bool is_known = s.opcode.size() == 8 && is(1, "mma_async") && is(2, "sync") && is(3, "aligned") &&
                  is(5, "f32") && elements.contains(s.opcode[6]) && elements.contains(s.opcode[7]);
  if (!is_known) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  Shape shape{};
  shape.a = elements.at(s.opcode[6]);
  shape.b = elements.at(s.opcode[7]);
  shape.columns = u16(std::atoi(s.opcode[4].c_str() + std::min<size_t>(4, s.opcode[4].size())));
  bool is_same = shape.a == shape.b || (bytes_of(shape.a) == 1 && bytes_of(shape.b) == 1);
  std::string size = "m64n" + std::to_string(shape.columns) + "k" + std::to_string(depth_of(shape.a));
  if (!is_same || s.opcode[4] != size || shape.columns % 8 || shape.columns < 8 || shape.columns > 256)
    refuse(s.line, join_opcode(s.opcode) + " does not exist");
  return shape;
}

void decode_product(Decoder& decoder, const Statement& s, Instruction& i) {
  Shape shape = read_formats(s);
  bool is_16_bit = bytes_of(shape.a) == 2;
  shape.a_in_registers = s.operands.size() > 1 && s.operands[1].kind == Operand::Kind::list;
  // Only numbers of 16 bits may lie across k, and only in shared memory.
  size_t count = 6 + (is_16_bit ? 1 + !shape.a_in_registers : 0);
  if (s.operands.size() != count)
    refuse(s.line, join_opcode(s.opcode) + " has " + std::to_string(count) + " operands here");
  if (s.operands[0].items.size() != shape.sums() ||
      (shape.a_in_registers && s.operands[1].items.size() != 4))
    refuse(s.line, "the list has another size than the opcode");
  for (const Operand& item : s.operands[0].items) decoder.list({decoder.destination(item, 4)}, i);
  for (const Operand& item : s.operands[1].items) decoder.list({decoder.source(item, 4)}, i);
  if (!shape.a_in_registers) i.a = decoder.source(s.operands[1], 8);
  i.b = decoder.source(s.operands[2], 8);
  i.c = decoder.source(s.operands[3], 0);
  shape.negates_a = !flag_of(decoder, s.operands[4]);
  shape.negates_b = !flag_of(decoder, s.operands[5]);
  if (is_16_bit) {
    if (!shape.a_in_registers) shape.a_across = flag_of(decoder, s.operands[6]);
    shape.b_across = flag_of(decoder, s.operands.back());
  }
  static_assert(sizeof shape <= sizeof i.detail);
  std::memcpy(&i.detail, &shape, sizeof shape);
  i.run = run_product;
}

void decode_wgmma(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  bool is_whole = parts.take("sync") && parts.take("aligned");
  if (is_whole && parts.take("fence")) i.run = run_nothing;
  else if (is_whole && parts.take("commit_group")) i.run = run_commit;
  else if (is_whole && parts.take("wait_group")) i.run = run_wait, i.detail = s.operands.at(0).bits;
  if (i.run) return parts.expect_none();
  decode_product(decoder, s, i);
}

}  // namespace

// Copies are not checked as readers, because ptxas removes most of them: a copy of sums in flight is NaN.
void check_products(const Warp& w, const Instruction& i) {
  const Code& code = *w.code;
  size_t index = size_t(&i - code.instructions.data());
  const std::string& name = code.names[index];
  if (name.starts_with("wgmma")) return;
  bool is_copy = name.starts_with("mov.");
  for (u32 at = index ? code.uses_end[index - 1] : 0; at < code.uses_end[index]; ++at) {
    u32 slot = code.uses[at] & ~kWritten, is_write = code.uses[at] & kWritten;
    if (slot & kConstantFlag || !is_in_flight(w, slot) || (is_copy && !is_write)) continue;
    const Instruction* sums = find_product(w, slot, Part::sums);
    const Instruction* product = sums ? sums : find_product(w, slot, Part::fragment);
    if (product)
      fault(w, i,
          std::string(is_write ? "writes" : "reads") + " registers with " + (sums ? "the sums" : "A") +
              " of the wgmma of line " + std::to_string(product->line) +
              ", which no wgmma.wait_group has waited for");
  }
}

void add_group_ops(DecodeTable& table) { table["wgmma"] = decode_wgmma; }

}  // namespace emulator
