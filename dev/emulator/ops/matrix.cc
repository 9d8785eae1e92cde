// mma.sync, ldmatrix, stmatrix, movmatrix.
//
// Fragments: register 0 of A holds, lane by lane, the rows 0–7 of an 8 × 16-byte matrix, four lanes per row.
// So a register of 32 lanes has the layout of such a matrix in memory. Registers 1, 2, 3 are the rows 8–15,
// the next 16 bytes of k, and both. B is the same, with a column of B as a row. C has rows 0–7 in its first
// two registers.
#include <algorithm>

#include "access.h"
#include "elements.h"

namespace emulator {
namespace {

constexpr int kRows = 16, kColumns = 8, kMaxDepth = 32;

template <class Read>
void read_matrix(const u32* slot, float* to, int stride) {
  constexpr int per_row = 16 / Read::bytes;
  auto* from = reinterpret_cast<const std::byte*>(slot);
  for (int row = 0; row < 8; ++row)
    for (int k = 0; k < per_row; ++k) to[row * stride + k] = Read::read(from + row * 16 + k * Read::bytes);
}

// Products are added in the order of k, in f32. The order inside a card is undocumented; results agree up to
// the last bits of f32.
template <class ReadA, class ReadB, int Depth, bool HalfResult>
void run_mma(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "mma.sync")) return;
  if (w.mask != kAllLanes) fault(w, i, "mma.sync needs all 32 lanes");
  constexpr int per_register = 16 / ReadA::bytes;
  constexpr int parts = Depth / per_register;
  ++w.block->counts.mma;
  alignas(64) float a[kRows][Depth], b[kColumns][Depth];
  alignas(64) float columns[Depth][kColumns], sums[kRows][kColumns];
  // list: D, A, B, C.
  constexpr u32 results = HalfResult ? 2 : 4;
  for (int part = 0; part < parts; ++part) {
    for (int half = 0; half < 2; ++half)
      read_matrix<ReadA>(
          w.at<u32>(w.list(i, results + u32(part * 2 + half))), &a[half * 8][part * per_register], Depth);
    read_matrix<ReadB>(
        w.at<u32>(w.list(i, results + u32(parts * 2 + part))), &b[0][part * per_register], Depth);
  }
  for (int k = 0; k < Depth; ++k)
    for (int n = 0; n < kColumns; ++n) columns[k][n] = b[n][k];
  u32 c_at = results + u32(parts) * 3;
  for (int row = 0; row < kRows; ++row)
    for (int n = 0; n < kColumns; ++n) {
      u32 lane = u32(row % 8 * 4 + n / 2), reg = u32(row / 8 * 2 + n % 2);
      if constexpr (HalfResult)
        sums[row][n] = from_f16(u16(w.at<u32>(w.list(i, c_at + reg / 2))[lane] >> (16 *(reg % 2))));
      else sums[row][n] = w.at<float>(w.list(i, c_at + reg))[lane];
    }
  for (int row = 0; row < kRows; ++row)
    for (int k = 0; k < Depth; ++k) {
      float factor = a[row][k];
#pragma GCC unroll 8
      for (int n = 0; n < kColumns; ++n) sums[row][n] = std::fma(factor, columns[k][n], sums[row][n]);
    }
  for (int row = 0; row < kRows; ++row)
    for (int n = 0; n < kColumns; ++n) {
      u32 lane = u32(row % 8 * 4 + n / 2), reg = u32(row / 8 * 2 + n % 2);
      if constexpr (HalfResult) {
        u32& to = w.at<u32>(w.list(i, reg / 2))[lane];
        u32 shift = 16 * (reg % 2);
        to = (to & ~(0xffffu << shift)) | u32(to_f16(sums[row][n])) << shift;
      } else {
        w.at<float>(w.list(i, reg))[lane] = sums[row][n];
      }
    }
}

struct Product {
  const char* name;
  Handler run;
  u32 results, a, b;
};
const Product products[] = {
    {"m16n8k16.f32.bf16.bf16.f32", run_mma<ReadBf16, ReadBf16, 16, false>, 4, 4, 2},
    {"m16n8k8.f32.bf16.bf16.f32", run_mma<ReadBf16, ReadBf16, 8, false>, 4, 2, 1},
    {"m16n8k16.f32.f16.f16.f32", run_mma<ReadF16, ReadF16, 16, false>, 4, 4, 2},
    {"m16n8k8.f32.f16.f16.f32", run_mma<ReadF16, ReadF16, 8, false>, 4, 2, 1},
    {"m16n8k16.f16.f16.f16.f16", run_mma<ReadF16, ReadF16, 16, true>, 2, 4, 2},
    {"m16n8k8.f32.tf32.tf32.f32", run_mma<ReadTf32, ReadTf32, 8, false>, 4, 4, 2},
    {"m16n8k4.f32.tf32.tf32.f32", run_mma<ReadTf32, ReadTf32, 4, false>, 4, 2, 1},
    {"m16n8k32.f32.e4m3.e4m3.f32", run_mma<ReadE4m3, ReadE4m3, 32, false>, 4, 4, 2},
    {"m16n8k32.f32.e4m3.e5m2.f32", run_mma<ReadE4m3, ReadE5m2, 32, false>, 4, 4, 2},
    {"m16n8k32.f32.e5m2.e4m3.f32", run_mma<ReadE5m2, ReadE4m3, 32, false>, 4, 4, 2},
    {"m16n8k32.f32.e5m2.e5m2.f32", run_mma<ReadE5m2, ReadE5m2, 32, false>, 4, 4, 2},
    {"m16n8k16.f32.e4m3.e4m3.f32", run_mma<ReadE4m3, ReadE4m3, 16, false>, 4, 2, 1},
};

void decode_mma(Decoder& decoder, const Statement& s, Instruction& i) {
  if (std::ranges::find(s.opcode, "block_scale") != s.opcode.end()) return decode_scaled_mma(decoder, s, i);
  std::string name;
  for (const std::string& part : s.opcode)
    if (part != "mma" && part != "sync" && part != "aligned" && part != "row" && part != "col" &&
        part != "kind::f8f6f4")
      name += (name.empty() ? "" : ".") + part;
  for (const Product& product : products) {
    if (name != product.name) continue;
    if (s.operands.size() != 4) refuse(s.line, "mma has four operands");
    const u32 sizes[] = {product.results, product.a, product.b, product.results};
    for (size_t k = 0; k < 4; ++k) {
      if (s.operands[k].items.size() != sizes[k]) refuse(s.line, "a fragment has another count of registers");
      for (const Operand& item : s.operands[k].items)
        decoder.list({k ? decoder.source(item, 4) : decoder.destination(item, 4)}, i);
    }
    i.run = product.run;
    return;
  }
  refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
}

Addresses matrix_rows(Warp& w, const Instruction& i, u32 matrices) {
  Addresses addresses = lane_addresses(w, i);
  for (u64& at : addresses.at) at &= kWindowSize - 1;
  Mask rows = matrices == 4 ? kAllLanes : (1u << (matrices * 8)) - 1;
  Mask mask = w.mask;
  w.mask = rows;
  check_shared(w, i, addresses, 16);
  if (Settings::get().counts) count_shared(w.block->counts, rows, addresses, 16, true);
  w.mask = mask;
  return addresses;
}

// detail: 1 if transposed. Lane l of register m gets the bytes 4·(l % 4) of row l / 4 of matrix m.
void run_ldmatrix(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "ldmatrix")) return;
  if (w.mask != kAllLanes) fault(w, i, "ldmatrix needs all 32 lanes");
  Addresses addresses = matrix_rows(w, i, i.list_size);
  for (u32 m = 0; m < i.list_size; ++m) {
    u16 rows[8][8];
    for (u32 row = 0; row < 8; ++row) {
      u32 at = u32(addresses.at[m * 8 + row]);
      // The row belongs to four lanes; record it for the first of them.
      w.block->shadow.read(w, i, row * 4, at, 16);
      std::memcpy(rows[row], w.block->shared + at, 16);
    }
    u32* to = w.at<u32>(w.list(i, m));
    if (!i.detail) std::memcpy(to, rows, sizeof rows);
    else
      for (u32 lane = 0; lane < kLanes; ++lane)
        to[lane] = u32(rows[lane % 4 * 2][lane / 4]) | u32(rows[lane % 4 * 2 + 1][lane / 4]) << 16;
  }
}

void run_stmatrix(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "stmatrix")) return;
  if (w.mask != kAllLanes) fault(w, i, "stmatrix needs all 32 lanes");
  Addresses addresses = matrix_rows(w, i, i.list_size);
  for (u32 m = 0; m < i.list_size; ++m) {
    u16 rows[8][8];
    const u32* from = w.at<u32>(w.list(i, m));
    if (!i.detail) std::memcpy(rows, from, sizeof rows);
    else
      for (u32 lane = 0; lane < kLanes; ++lane) {
        rows[lane % 4 * 2][lane / 4] = u16(from[lane]);
        rows[lane % 4 * 2 + 1][lane / 4] = u16(from[lane] >> 16);
      }
    for (u32 row = 0; row < 8; ++row) {
      u32 at = u32(addresses.at[m * 8 + row]);
      w.block->shadow.write(w, i, row * 4, at, 16);
      std::memcpy(w.block->shared + at, rows[row], 16);
    }
  }
}

void decode_matrix(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  bool is_load = s.opcode[0] == "ldmatrix";
  for (const char* part : {"sync", "aligned", "m8n8", "b16", "shared", "shared::cta"}) parts.take(part);
  std::string count = parts.take_one_of({"x1", "x2", "x4"});
  i.detail = parts.take("trans");
  parts.expect_none();
  decoder.address(s.operands.at(is_load ? 1 : 0), i);
  const Operand& list = s.operands.at(is_load ? 0 : 1);
  std::vector<Operand> items = list.kind == Operand::Kind::list ? list.items : std::vector<Operand>{list};
  if (count.empty() || items.size() != size_t(count[1] - '0'))
    refuse(s.line, "the list has another size than the opcode");
  for (const Operand& item : items)
    decoder.list({is_load ? decoder.destination(item, 4) : decoder.source(item, 4)}, i);
  i.run = is_load ? run_ldmatrix : run_stmatrix;
}

void run_movmatrix(Warp& w, const Instruction& i) {
  if (!w.gather(i, kAllLanes, "movmatrix")) return;
  u16 rows[8][8];
  std::memcpy(rows, w.at<u32>(i.a), sizeof rows);
  for (u32 lane = 0; lane < kLanes; ++lane)
    w.at<u32>(i.to)[lane] = u32(rows[lane % 4 * 2][lane / 4]) | u32(rows[lane % 4 * 2 + 1][lane / 4]) << 16;
}

void decode_movmatrix(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  for (const char* part : {"sync", "aligned", "m8n8", "b16", "trans"}) parts.take(part);
  parts.expect_none();
  i.to = decoder.destination(s.operands.at(0), 4);
  i.a = decoder.source(s.operands.at(1), 4);
  i.run = run_movmatrix;
}

}  // namespace

void add_matrix_ops(DecodeTable& table) {
  table["mma"] = decode_mma;
  table["ldmatrix"] = table["stmatrix"] = decode_matrix;
  table["movmatrix"] = decode_movmatrix;
}

}  // namespace emulator
