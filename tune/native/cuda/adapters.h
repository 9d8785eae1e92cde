// Parameters of adapters.cu.
#pragma once
#include <cstdint>

#include "stored.h"

namespace cairn::cuda {

// Rows of a weight per block of row_norms, which share what it reads of a.
constexpr int kNormRows = 8;
// Rows per block of ops that treat columns alike, whose threads keep the values of their columns, and threads
// of such a block.
constexpr int kScaledRows = 16, kColumnThreads = 128;
// Rows that a block of scale_columns_weight_grad adds up. The sums of these spans are added by a second
// launch.
constexpr int kGradRows = 64;

// a (rank, columns) and b (rows, rank) are null without an adapter.
struct RowNorms {
  Stored weight;
  const void* a;
  const void* b;
  float* y;
  int64_t rows, rank;
  float alpha;
  Dtype a_dtype, b_dtype;
};

// `bias` and `addend` may be null.
struct ScaleColumns {
  const void* x;
  const float* weight;
  const float* norms;
  const void* bias;
  const void* addend;
  void* y;
  int64_t rows, columns;
  Dtype dtype, bias_dtype, addend_dtype;
};

struct ScaleColumnsGrad {
  const void* dy;
  const void* x;
  const float* norms;
  // Sums of spans of rows, (spans, columns).
  float* partial;
  float* dweight;
  int64_t rows, columns, spans;
  Dtype dy_dtype, dtype;
};

// `bias` and `addend` may be null.
struct AdapterColumns {
  const float* x;
  const float* delta;
  const float* factors;
  const int32_t* adapters;
  const void* bias;
  const void* addend;
  void* y;
  int32_t* fault;
  int64_t rows, columns, limit;
  int32_t fault_code;
  Dtype dtype, bias_dtype, addend_dtype;
};

}  // namespace cairn::cuda
