// wgmma: products of four warps, which read their operands from shared memory asynchronously.
//
// Each warp has 16 rows of the result and computes its own share. A product is computed when its group is
// waited for, so that overwriting its shared memory too early has a visible effect. Until then its
// accumulators hold NaN, so that reading them too early has one too. Shared memory must hold the operands
// when the product is issued: it is checked then and again at the wait.
#include "access.h"
#include "formats.h"

namespace emulator {
namespace {

constexpr u32 kDepth = 16;

// Decoded from Instruction::detail.
struct Shape {
  u16 columns;
  bool is_half;  // f16, else bf16
  bool negates_a, negates_b, a_across, b_across;
};

/// A matrix in shared memory, as its descriptor specifies: rows of 128 bytes with swizzled chunks of 16.
struct Matrix {
  u32 at, panel_bytes, rows_bytes;
  bool is_across;  // rows in memory run across k

  /// Address of the 8 numbers of row `row` from `k` on; across, those of k from `row` on.
  u32 chunk(u32 row, u32 k) const {
    u32 plain = is_across ? at + row / 64 * panel_bytes + k / 8 * rows_bytes + k % 8 * 128 + row % 64 * 2
                          : at + row / 8 * rows_bytes + row % 8 * 128 + k * 2;
    return plain ^ ((plain >> 7 & 7) << 4);
  }
};

Matrix read_descriptor(const Warp& w, const Instruction& i, u64 bits, bool is_across) {
  if (bits >> 62 != 1) fault(w, i, "the emulator knows matrices with the swizzle of 128 bytes only");
  if (bits >> 49 & 7) fault(w, i, "the emulator knows matrices with base offset 0 only");
  return {u32(bits & 0x3fff) << 4, u32(bits >> 16 & 0x3fff) << 4, u32(bits >> 32 & 0x3fff) << 4, is_across};
}

/// Reads `rows` × 16 numbers from row `first` on. Only checks them if `to` is null.
void read_operand(
    Warp& w, const Instruction& i, const Matrix& m, u32 first, u32 rows, bool is_half, float* to) {
  u32 outer = m.is_across ? rows / 8 : rows, inner = m.is_across ? kDepth : kDepth / 8;
  for (u32 a = 0; a < outer; ++a)
    for (u32 b = 0; b < inner; ++b) {
      u32 row = m.is_across ? a * 8 : a, k = m.is_across ? b : b * 8;
      u32 at = m.chunk(first + row, k);
      if (at + 16 > w.block->shared_bytes)
        fault(w, i,
            "an operand lies outside shared memory: 16 bytes at " + std::to_string(at) + " of " +
                std::to_string(w.block->shared_bytes));
      w.block->shadow.read_async(w, i, a % kLanes, at, 16);
      if (!to) continue;
      u16 codes[8];
      std::memcpy(codes, w.block->shared + at, 16);
      for (u32 n = 0; n < 8; ++n) {
        float value = is_half ? from_f16(codes[n]) : from_bf16(codes[n]);
        (m.is_across ? to[(row + n) * kDepth + k] : to[row * kDepth + k + n]) = value;
      }
    }
}

Shape shape_of(const Instruction& i) {
  Shape shape;
  std::memcpy(&shape, &i.detail, sizeof shape);
  return shape;
}

void read_both(Warp& w, const GroupMatmul& matmul, float* a, float* b) {
  const Instruction& i = *matmul.at;
  Shape shape = shape_of(i);
  read_operand(w, i, read_descriptor(w, i, matmul.a, shape.a_across), w.index % 4 * 16, 16, shape.is_half, a);
  read_operand(w, i, read_descriptor(w, i, matmul.b, shape.b_across), 0, shape.columns, shape.is_half, b);
}

// `held` has the accumulators as registers: register r of lane l at r · 32 + l.
void finish(Warp& w, const GroupMatmul& matmul, std::vector<float>& held) {
  Shape shape = shape_of(*matmul.at);
  std::vector<float> a(16 * kDepth), b(size_t(shape.columns) * kDepth);
  read_both(w, matmul, a.data(), b.data());
  float sign = shape.negates_a != shape.negates_b ? -1.0f : 1.0f;
  std::vector<float> across(b.size());
  for (u32 n = 0; n < shape.columns; ++n)
    for (u32 k = 0; k < kDepth; ++k) across[k * shape.columns + n] = b[n * kDepth + k];
  std::vector<float> sums(shape.columns);
  for (u32 row = 0; row < 16; ++row) {
    auto place = [&](u32 n) -> float& {
      return held[(n / 8 * 4 + row / 8 * 2 + n % 2) * kLanes + row % 8 * 4 + n % 8 / 2];
    };
    for (u32 n = 0; n < shape.columns; ++n) sums[n] = matmul.accumulates ? place(n) : 0.0f;
    for (u32 k = 0; k < kDepth; ++k) {
      float factor = sign * a[row * kDepth + k];
      const float* column = &across[k * shape.columns];
      for (u32 n = 0; n < shape.columns; ++n) sums[n] = std::fma(factor, column[n], sums[n]);
    }
    for (u32 n = 0; n < shape.columns; ++n) place(n) = sums[n];
  }
}

void run_product(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "wgmma")) return;
  ++w.block->counts.mma;
  u32 lane = u32(std::countr_zero(w.mask)), registers = i.list_size;
  GroupMatmul matmul{
      &i, w.at<u64>(i.a)[lane], w.at<u64>(i.b)[lane], (w.predicate(i.c) >> lane & 1) != 0, w.product_groups};
  read_both(w, matmul, nullptr, nullptr);
  auto [held, is_new] = w.saved_sums.try_emplace(w.list(i, 0));
  if (is_new) {
    held->second.resize(registers * kLanes);
    for (u32 r = 0; r < registers; ++r) {
      float* sums = w.at<float>(w.list(i, r));
      std::memcpy(&held->second[r * kLanes], sums, sizeof(float) * kLanes);
      std::fill(sums, sums + kLanes, std::bit_cast<float>(0x7fffffffu));
    }
  }
  w.matmuls.push_back(matmul);
}

void run_commit(Warp& w, const Instruction&) { ++w.product_groups; }

void run_wait(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "wgmma.wait_group")) return;
  std::vector<GroupMatmul> left, done;
  for (const GroupMatmul& matmul : w.matmuls)
    (matmul.group + i.detail < w.product_groups ? done : left).push_back(matmul);
  for (const GroupMatmul& matmul : done) finish(w, matmul, w.saved_sums.at(w.list(*matmul.at, 0)));
  // All lanes know that the operands were read, so each of them may release the shared memory.
  if (!done.empty()) w.block->shadow.sync_warp(w.index);
  w.matmuls = left;
  for (const GroupMatmul& matmul : done) {
    u32 key = w.list(*matmul.at, 0);
    auto held = w.saved_sums.find(key);
    bool is_pending = false;
    for (const GroupMatmul& other : left) is_pending |= w.list(*other.at, 0) == key;
    if (held == w.saved_sums.end() || is_pending) continue;
    for (u32 r = 0; r < matmul.at->list_size; ++r)
      std::memcpy(w.at<float>(w.list(*matmul.at, r)), &held->second[r * kLanes], sizeof(float) * kLanes);
    w.saved_sums.erase(held);
  }
}

void run_nothing(Warp&, const Instruction&) {}

bool flag_of(const Decoder& decoder, const Operand& operand) {
  if (operand.kind != Operand::Kind::immediate) refuse(decoder.line(), "wgmma needs constants here");
  return operand.bits == 1;
}

void decode_wgmma(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  for (const char* part : {"sync", "aligned"}) parts.take(part);
  if (parts.take("fence")) i.run = run_nothing;
  else if (parts.take("commit_group")) i.run = run_commit;
  else if (parts.take("wait_group")) i.run = run_wait, i.detail = s.operands.at(0).bits;
  if (i.run) return parts.expect_none();
  Shape shape{};
  bool is_bf16 = parts.take("bf16") && parts.take("bf16");
  shape.is_half = !is_bf16 && parts.take("f16") && parts.take("f16");
  std::string size = s.opcode.size() > 4 ? s.opcode[4] : "";
  bool is_known = parts.take("mma_async") && parts.take("f32") && parts.take(size) &&
                  (is_bf16 || shape.is_half) && size.starts_with("m64n") && size.ends_with("k16") &&
                  s.operands.size() == 8;
  if (!is_known) refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  parts.expect_none();
  shape.columns = u16(std::atoi(size.c_str() + 4));
  if (s.operands[0].items.size() != shape.columns / 2u)
    refuse(s.line, "the list has another size than the opcode");
  for (const Operand& item : s.operands[0].items) decoder.list({decoder.destination(item, 4)}, i);
  i.a = decoder.source(s.operands[1], 8);
  i.b = decoder.source(s.operands[2], 8);
  i.c = decoder.source(s.operands[3], 0);
  shape.negates_a = !flag_of(decoder, s.operands[4]);
  shape.negates_b = !flag_of(decoder, s.operands[5]);
  shape.a_across = flag_of(decoder, s.operands[6]);
  shape.b_across = flag_of(decoder, s.operands[7]);
  std::memcpy(&i.detail, &shape, sizeof shape);
  i.run = run_product;
}

}  // namespace

void add_group_ops(DecodeTable& table) { table["wgmma"] = decode_wgmma; }

}  // namespace emulator
