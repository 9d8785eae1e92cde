// Parameters of thin.cu.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// Rows (or columns) of the wide operand per block, and what it multiplies at a time.
constexpr int kThinTile = 64, kThinDepth = 64, kThinThreads = 128;
// Columns of a part, parts of a section, sections of a launch.
constexpr int kPart = 8, kMaxParts = 8, kMaxSections = 8;
// Steps in shared memory: of products with an input, and with gradients.
constexpr int kInputStages = 4, kGradientStages = 3;

// A product of the wide and the thin operand: wide·thinᵀ, wide·thin, wideᵀ·thin.
enum class ThinForm : int32_t { nt, nn, tn };

// Eight columns of a thin operand, or rows in nt, and where they go. `from` is the first of them, and `n` the
// number of columns of the whole operand, of which `column` is the first here; 0 for no part.
struct ThinPart {
  const uint16_t* from;
  void* y;
  // Only if y is f32; may be null.
  const float* addend;
  int32_t n, column;
  float alpha;
  Dtype y_dtype;
  // Whether y is the transposed product.
  int32_t is_transposed;
};

// Products that read the same wide operand: tiles of their sums, each divided among `splits` blocks. If those
// are several, they leave partial sums (splits, tiles, kThinTile, columns), and `arrived` has a zero for each
// tile.
struct ThinSection {
  const uint16_t* wide;
  float* partial;
  uint32_t* arrived;
  int32_t rows, columns;
  ThinForm form;
  int32_t tiles, splits;
  // Shares of k are divided at multiples of it.
  int32_t split_depth;
  // The first of the blocks of the launch that belong to this section.
  int32_t first_block, padding;
  ThinPart part[kMaxParts];
};

struct Thin {
  ThinSection section[kMaxSections];
  int64_t sections;
};

}  // namespace cairn::cuda
