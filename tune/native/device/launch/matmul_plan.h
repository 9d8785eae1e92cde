// Chooses the kernel and tiles of a product, and the preparation of its operands, from shapes, dtypes,
// attributes and the kind of card.
#pragma once
#include <algorithm>

#include "multiply.h"

namespace cairn::device {

constexpr int kRun = 16;
// From this many rows (eight tiles) on, decode the weight once instead of in every tile.
constexpr int64_t kManyRows = 1024;
// Codes of one FP4 instruction along k, whose scales are a word.
constexpr int kFp4Run = 64;

// A kernel's tile of the result, and its steps along k.
struct Tiles {
  const char *module, *prefix;
  int rows, columns, depth, buffers, threads;

  // Besides their buffers, in bytes.
  int other_shared = 0;

  int64_t shared() const { return int64_t(buffers) * (rows + columns) * depth * 2 + other_shared; }
};
constexpr Tiles kSmall{"matmul", "matmul", 64, 64, 32, 3, 128},
    kLarge{"matmul", "matmul", 128, 128, 32, 3, 256},
    kGroups{"matmul_wgmma", "wgmma", 128, 128, 64, 4, 256},
    kWideGroups{"matmul_wgmma", "wgmma", 128, 256, 64, 4, 256},
    // Their depths count pairs of codes, and groups of four.
    kFp8{"matmul_fp8", "fp8", 128, 128, 64, 4, 256},
    kFp4{"matmul_fp4", "fp4", 128, 128, 32, 4, 256, 4 * (128 + 128) * 8},
    kBulk{"matmul_bulk", "bulk", 128, 256, 64, 4, 384, 128 * 64 * 4 + 64};

inline bool is_float(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::bf16; }
inline bool is_rounded(Arithmetic a) { return a == Arithmetic::fp8_hybrid || a == Arithmetic::nvfp4; }

// Name of the kernel that decodes a weight on the way to shared memory, or null.
inline const char* decoder_of(const Matrix& b) {
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

inline cuda::Grid grid_of(const MatmulSpec& p) {
  if (p.arithmetic == Arithmetic::fp8_hybrid) return p.is_gradient ? cuda::Grid::e5m2 : cuda::Grid::e4m3;
  if (p.arithmetic != Arithmetic::nvfp4) return cuda::Grid::none;
  return p.is_gradient && p.random ? cuda::Grid::nvfp4_stochastic : cuda::Grid::nvfp4;
}

// The format of codes in which the first pair is multiplied, if it is. Products of codes are at least as
// exact as those in bf16 except for the tensor core's sums.
enum class Codes { none, fp8, fp4 };

// The kernels take no rows of experts. In FP4 both operands need a scale for each 16 k, which a weight has
// only along its own rows.
inline Codes codes_of(const DeviceInfo& device, const MatmulSpec& p) {
  const Matrix &a = p.pair[0].a, &b = p.pair[0].b;
  if (device.is_row_invariant || !is_float(a.stored.dtype) || p.ends) return Codes::none;
  if (device.multiplies_fp8 && p.arithmetic == Arithmetic::fp8_hybrid && b.columns % kRun == 0 &&
      (b.stored.dtype == Dtype::fp8_tiles || b.stored.dtype == Dtype::fp8_tensor))
    return Codes::fp8;
  if (device.multiplies_fp4 && grid_of(p) == cuda::Grid::nvfp4 && p.form == Form::nt &&
      b.stored.dtype == Dtype::nvfp4 && b.columns % kFp4Run == 0)
    return Codes::fp4;
  return Codes::none;
}

inline bool has_second(const MatmulSpec& p) { return p.pair[1].a.columns > 0; }
inline bool is_scaled_weight(const MatmulSpec& p) {
  return is_rounded(p.arithmetic) &&
         (p.pair[0].b.stored.dtype == Dtype::nvfp4 || p.pair[0].b.stored.dtype == Dtype::fp8_tensor);
}

inline int64_t row_tiles(const MatmulSpec& p, int64_t size) {
  return p.ends && p.form != Form::tn ? p.m / size + p.ends->count : blocks_of(p.m, size);
}
inline int64_t matrices_of(const MatmulSpec& p) { return p.ends && p.form == Form::tn ? p.ends->count : 1; }
inline int64_t blocks_in(const MatmulSpec& p, const Tiles& tiles) {
  return row_tiles(p, tiles.rows) * blocks_of(p.n, tiles.columns) * matrices_of(p);
}

// Whether the kernels of matmul_bulk.cu can compute a product whose operands are bf16 after staging, which
// also aligns their rows. A tensor map cannot have an empty side, nor follow the rows of experts.
inline bool can_be_bulk(const DeviceInfo& device, const MatmulSpec& p) {
  const Matrix& a = p.pair[0].a;
  return device.capability == 90 && !p.ends && p.n > 0 && a.rows > 0 && a.columns > 0;
}

// Sizes and kernel, from shapes and the card's kind alone.
struct Plan {
  bool in_f32;
  Codes codes;
  // Which operands are staged: a, b, a2, b2. Codes of the first pair are made apart.
  bool staged[4] = {};
  const char* decoder = nullptr;
  // Whether the whole weight is decoded first: on cards that multiply faster than tiles can decode.
  bool unpacks = false;
  Tiles tiles = kSmall;
  // Number of blocks that share k, divided at multiples of `split_depth`.
  int64_t splits = 1;
  int split_depth = 0;
  bool is_bulk = false;
  // Lengths of the sums, that of codes in numbers of 16 bits.
  int64_t k[2];

  Plan(const DeviceInfo& device, const MatmulSpec& p)
      : in_f32(p.arithmetic == Arithmetic::f32), codes(codes_of(device, p)) {
    for (int i = 0; i < 2; i++) k[i] = p.form == Form::tn ? p.pair[i].a.rows : p.pair[i].a.columns;
    const bool in_codes = codes != Codes::none;
    if (in_codes) k[0] = codes == Codes::fp4 ? k[0] / 4 : align_up(k[0], kRun) / 2;
    else if (!in_f32 && p.form != Form::tn) decoder = decoder_of(p.pair[0].b);
    for (int i = in_codes ? 2 : 0; i < (has_second(p) ? 4 : 2); i++) {
      const Matrix& m = i % 2 == 0 ? p.pair[i / 2].a : p.pair[i / 2].b;
      // Sizes are computed before there is data. Tensors start at multiples of 16 bytes, and so do rows if
      // their length is a multiple of eight.
      const bool lies = m.stored.dtype == Dtype::bf16 && m.columns % 8 == 0 && m.next % 16 == 0;
      staged[i] = in_f32 ? !is_float(m.stored.dtype)
                         : i == 0 ? !lies || is_rounded(p.arithmetic) : i == 1 && decoder ? false : !lies;
    }
    if (in_f32) return;
    constexpr int64_t kMinBlocks = 120;
    const bool may_grow = !device.is_row_invariant;
    if (in_codes) tiles = codes == Codes::fp4 ? kFp4 : kFp8;
    else if (may_grow && blocks_in(p, kLarge) >= kMinBlocks) tiles = kLarge;
    unpacks = decoder && device.capability == 90 && !p.ends && p.m >= kManyRows &&
              tiles.rows == kLarge.rows;
    if (device.capability == 90 && !in_codes && (!decoder || unpacks) && tiles.rows == kLarge.rows)
      tiles = blocks_in(p, kWideGroups) >= kMinBlocks ? kWideGroups : kGroups;
    // Splits order the sums, so they may depend on the number of rows only if tiles may.
    const int64_t blocks = may_grow ? blocks_in(p, tiles) : blocks_of(p.n, tiles.columns),
                  steps = blocks_of(k[0], tiles.depth) + blocks_of(k[1], tiles.depth);
    // Only the small tiles can share sums. Large ones are chosen for at least kMinBlocks.
    if (tiles.rows == kSmall.rows && !p.ends && !p.live_rows && blocks < kMinBlocks)
      splits = std::max<int64_t>(1, std::min({256 / std::max<int64_t>(blocks, 1), steps / 16, int64_t(16)}));
    // Dividing k as the kernels above keeps the order of sums.
    split_depth = tiles.depth;
    is_bulk = !in_codes && can_be_bulk(device, p) && (!decoder || unpacks) &&
              (device.bulk_products == BulkProducts::all ||
                  (device.bulk_products == BulkProducts::wide && tiles.columns == kWideGroups.columns));
    if (is_bulk) tiles = kBulk;
  }

  int64_t element() const { return in_f32 ? 4 : 2; }
};

}  // namespace cairn::device
