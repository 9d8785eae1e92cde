// Parameters of rows.cu.
#pragma once
#include <cstdint>

#include "stored.h"

namespace cairn::cuda {

struct Embed {
  Stored table;
  const int32_t* ids;
  void* y;
  int32_t* fault;
  int64_t rows, limit;
  float scale;
  int32_t fault_code;
  Dtype dtype;
};

struct EmbedGrad {
  const void* dy;
  const int32_t* ids;
  float* dtable;
  int32_t* fault;
  int64_t rows, columns, limit;
  float scale;
  int32_t fault_code;
  Dtype dtype;
};

// Columns [from, from + part) of `whole`.
struct Columns {
  const void* x;
  const void* addend;
  void* y;
  int64_t rows, from, part, whole;
  Dtype dtype;
};

struct ColumnSums {
  const void* x;
  float* sums;
  int64_t rows, columns;
  Dtype dtype;
};

struct GatherRows {
  const void* x;
  const int32_t* rows;
  void* y;
  int32_t* fault;
  int64_t count, columns, limit;
  int32_t fault_code;
  Dtype dtype;
};

// A whole matrix decoded.
struct Decode {
  Stored x;
  void* y;
  int64_t rows;
  Dtype dtype;
};

}  // namespace cairn::cuda
