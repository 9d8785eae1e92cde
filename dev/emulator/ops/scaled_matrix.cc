// mma.sync with block scaling: D = (A · scale_A) · (B · scale_B) + C of E2M1 numbers.
//
// PTX ISA 9.2, "Block Scaling for mma.sync" (9.7.14.3) and "Matrix Fragments for mma.m16n8k64". With
// g = lane / 4 and t = lane mod 4, register r of A has row g + 8 · (r mod 2) and the eight k from
// 8 · t + 32 · (r / 2) on, the first in the lowest bits. Register r of B has column g and the same k, C and D
// are as in m16n8k16. A row of A, or a column of B, has one scale for each 16 (4X) or 32 (2X) k, in
// consecutive bytes of a register from byte-id on: 0, or also 2 if there are two of them. Scales of the rows
// g and g + 8 of A come from lanes 4g + 2 · thread-id-a and the next, with thread-id-a 0 or 1. Those of
// column g of B come from lane 4g + thread-id-b, with thread-id-b 0 to 3.
#include "access.h"
#include "formats.h"

namespace emulator {
namespace {

constexpr u32 kRows = 16, kColumns = 8, kDepth = 64;
// Places in the list: D, A, B, C, then scales, byte-id and thread-id of A and of B.
constexpr u32 kA = 4, kB = 8, kC = 10, kScaleA = 14, kScaleB = 17;

// Decoded from Instruction::detail.
struct Scales {
  u32 blocks;
  bool is_ue8m0;
};
Scales scales_of(const Instruction& i) { return {u32(i.detail & 0xff), (i.detail >> 8 & 1) != 0}; }

bool is_byte_id(u64 value, u32 blocks) { return value == 0 || (value == 2 && blocks == 2); }
bool is_thread_id(u64 value, bool is_a) { return value < (is_a ? 2u : 4u); }

[[noreturn]] void report_selector(const Warp& w, const Instruction& i, const char* name, u32 value) {
  fault(w, i, std::string(name) + " is " + std::to_string(value) + ", which selects no scales");
}

u32 same_in_all(const Warp& w, const Instruction& i, const u16* lanes, const char* name) {
  for (int lane = 1; lane < kLanes; ++lane)
    if (lanes[lane] != lanes[0]) fault(w, i, std::string(name) + " differs between lanes");
  return lanes[0];
}

float scale_of(const Warp& w, const Instruction& i, u32 code, bool is_ue8m0) {
  if (is_ue8m0) return code == 0xff ? NAN : std::ldexp(1.0f, int(code) - 127);
  if (code & 0x80) fault(w, i, "a scale has its highest bit set, which ue4m3 does not have");
  return decode_small(kE4m3, code);
}

// Selected scales of `rows` rows of A, or columns of B.
void read_scales(Warp& w, const Instruction& i, u32 at, u32 rows, float (*to)[4]) {
  const bool is_a = at == kScaleA;
  auto [blocks, is_ue8m0] = scales_of(i);
  const u32* words = w.at<u32>(w.list(i, at));
  const char* byte_name = is_a ? "byte-id-a" : "byte-id-b";
  const char* thread_name = is_a ? "thread-id-a" : "thread-id-b";
  u32 byte = same_in_all(w, i, w.at<u16>(w.list(i, at + 1)), byte_name),
      thread = same_in_all(w, i, w.at<u16>(w.list(i, at + 2)), thread_name);
  if (!is_byte_id(byte, blocks)) report_selector(w, i, byte_name, byte);
  if (!is_thread_id(thread, is_a)) report_selector(w, i, thread_name, thread);
  for (u32 row = 0; row < rows; ++row)
    for (u32 block = 0; block < blocks; ++block) {
      u32 lane = row % 8 * 4 + (is_a ? thread * 2 + row / 8 : thread);
      to[row][block] = scale_of(w, i, words[lane] >> (8 * (byte + block)) & 0xff, is_ue8m0);
    }
}

// Scaled numbers of `rows` rows of A, or columns of B, from the registers from `at` on. They are exact.
void read_numbers(
    Warp& w, const Instruction& i, u32 at, u32 rows, const float (*scales)[4], float (*to)[kDepth]) {
  const u32 per_scale = kDepth / scales_of(i).blocks, halves = rows / 8;
  for (u32 r = 0; r < 2 * halves; ++r) {
    const u32* words = w.at<u32>(w.list(i, at + r));
    for (u32 lane = 0; lane < kLanes; ++lane)
      for (u32 n = 0; n < 8; ++n) {
        u32 row = lane / 4 + r % halves * 8, k = lane % 4 * 8 + r / halves * 32 + n;
        to[row][k] = decode_small(kE2m1, words[lane] >> (4 * n) & 15) * scales[row][k / per_scale];
      }
  }
}

// Products are added in the order of k, in f32, as in matrix.cc.
void run_scaled_mma(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "mma.sync")) return;
  if (w.mask != kAllLanes) fault(w, i, "mma.sync needs all 32 lanes");
  ++w.block->counts.mma;
  float scale_a[kRows][4], scale_b[kColumns][4], a[kRows][kDepth], b[kColumns][kDepth];
  read_scales(w, i, kScaleA, kRows, scale_a);
  read_scales(w, i, kScaleB, kColumns, scale_b);
  read_numbers(w, i, kA, kRows, scale_a, a);
  read_numbers(w, i, kB, kColumns, scale_b, b);
  float sums[kRows][kColumns];
  auto place = [&](u32 list, u32 row, u32 n) -> float& {
    return w.at<float>(w.list(i, list + row / 8 * 2 + n % 2))[row % 8 * 4 + n / 2];
  };
  for (u32 row = 0; row < kRows; ++row)
    for (u32 n = 0; n < kColumns; ++n) {
      sums[row][n] = place(kC, row, n);
      for (u32 k = 0; k < kDepth; ++k) sums[row][n] = std::fma(a[row][k], b[n][k], sums[row][n]);
    }
  // D may be the registers of C.
  for (u32 row = 0; row < kRows; ++row)
    for (u32 n = 0; n < kColumns; ++n) place(0, row, n) = sums[row][n];
}

void check_selectors(const Statement& s, u32 at, bool is_a, u32 blocks) {
  const std::vector<Operand>& ids = s.operands[at].items;
  if (ids.size() != 2) refuse(s.line, "the selectors of scales are byte-id and thread-id");
  const std::string suffix = is_a ? "-a is " : "-b is ";
  auto check = [&](const Operand& id, const char* name, bool is_valid) {
    if (id.kind == Operand::Kind::immediate && !is_valid)
      refuse(s.line, name + suffix + std::to_string(id.bits) + ", which selects no scales");
  };
  check(ids[0], "byte-id", is_byte_id(ids[0].bits, blocks));
  check(ids[1], "thread-id", is_thread_id(ids[1].bits, is_a));
}

}  // namespace

// Table 36 of the ISA without its E4M3, E5M2, E3M2 and E2M3 operands, which are .kind::mxf8f6f4.
void decode_scaled_mma(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  constexpr const char* shape[] = {
      "sync", "aligned", "m16n8k64", "row", "col", "block_scale", "f32", "e2m1", "e2m1", "f32"};
  for (const char* part : shape)
    if (!parts.take(part))
      refuse(s.line, "the emulator scales blocks only in m16n8k64.row.col.f32.e2m1.e2m1.f32, not in " +
                         join_opcode(s.opcode));
  std::string kind = parts.take_one_of({"kind::mxf4nvf4", "kind::mxf4"});
  std::string size = parts.take_one_of({"scale_vec::2X", "scale_vec::4X"});
  std::string type = parts.take_one_of({"ue4m3", "ue8m0"});
  parts.expect_none();
  if (kind == "kind::mxf4" && size.empty()) size = "scale_vec::2X";
  const bool is_mxf4 = kind == "kind::mxf4", is_2x = size == "scale_vec::2X";
  if (kind.empty() || size.empty() || type.empty() || (is_mxf4 && !is_2x) || (is_2x && type != "ue8m0"))
    refuse(s.line, "kind, scale_vec and type of scales do not fit in " + join_opcode(s.opcode));
  const u32 blocks = is_2x ? 2 : 4;
  i.detail = blocks | u64(type == "ue8m0") << 8;
  if (s.operands.size() != 8) refuse(s.line, "mma with block_scale has eight operands");
  check_selectors(s, 5, true, blocks);
  check_selectors(s, 7, false, blocks);
  for (size_t k = 0; k < 8; ++k) {
    const Operand& operand = s.operands[k];
    const u32 bytes = k == 5 || k == 7 ? 2 : 4;  // selectors have 16 bits
    std::vector<Operand> items{operand};
    if (operand.kind == Operand::Kind::list) items = operand.items;
    const size_t counts[] = {4, 4, 2, 4, 1, 2, 1, 2};
    if (items.size() != counts[k]) refuse(s.line, "a fragment has another count of registers");
    for (const Operand& item : items)
      decoder.list({k == 0 ? decoder.destination(item, 4) : decoder.source(item, bytes)}, i);
  }
  i.run = run_scaled_mma;
}

}  // namespace emulator
