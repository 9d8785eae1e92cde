// Operands of wgmma: matrices in shared memory and fragments in registers, read as floats.
#pragma once
#include "access.h"

namespace emulator {

enum class Element : u8 { bf16, f16, tf32, e4m3, e5m2 };

/// Bytes of a number.
u32 bytes_of(Element element);
/// Along k an operand of one instruction has 32 bytes.
inline u32 depth_of(Element element) { return 32 / bytes_of(element); }

/// A matrix in shared memory, as its descriptor specifies.
struct Matrix {
  u32 at, leading, stride;  // bytes
  u32 chunks;               // of 16 bytes in a row: 8, 4 or 2, swizzled, or 1
  bool is_across;           // rows in memory run across k

  static Matrix read(Warp& w, const Instruction& i, u64 descriptor, bool is_across);
  /// Address of 16 bytes: along k those of chunk `k` of row `row`; across, those of k from `row` on.
  u32 chunk(u32 row, u32 k) const;
};

/// Reads rows from `first` on, each of depth_of(element) numbers. Only checks them if `to` is null.
void read_rows(
    Warp& w, const Instruction& i, const Matrix& matrix, Element element, u32 first, u32 rows, float* to);
/// Reads a warp's 16 rows from four registers, which hold 8 rows of 16 bytes each: rows 0–7, rows 8–15, and
/// the next 16 bytes of both.
void read_fragment(const std::vector<u32>& registers, Element element, float* to);

/// Adds the products of two rows in the order of k, in f32.
float add_products(float sum, const float* a, const float* b, u32 depth);
/// Adds them as Hopper's tensor cores are described to add fp8: all terms are aligned to the largest and cut
/// to `bits` bits, and so is their sum.
float add_products_cut(float sum, const float* a, const float* b, u32 depth, int bits);

}  // namespace emulator
