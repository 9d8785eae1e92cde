// Parameters of paged.cu, and the layout of keys and values in a cache.
//
// A word of a cache is two bf16 or one f32. A block of keys has one word of all its rows side by side. A
// block of values has a word of every column side by side, and a word pairs two rows. So the lanes of a warp
// read neighbouring words of both.
#pragma once
#include <cstdint>

#include "ops.h"

namespace cairn::cuda {

// Keys that one block adds up. Their sums are merged in order of keys, so a row's bits depend on the number
// of its own keys alone, however many blocks share the work.
constexpr int kSliceKeys = 512;
// Query heads of a block, all of which read the same key head.
constexpr int kPagedHeads = 4;
constexpr int kPagedWarps = 4;
constexpr int kMaxHeadWidth = 256;

struct PagedWrite {
  const void* k;
  const void* v;
  const int32_t* slots;
  void* keys;
  void* values;
  int32_t* fault;
  int64_t rows, limit;
  int32_t width, block, fault_code;
  Dtype from, to;
};

struct PagedAttention {
  const void* q;
  const void* k;
  const void* v;
  const void* sinks;
  const int32_t* tables;
  const int32_t* spans;
  void* y;
  // The number of each row's span plus 1; 0 for rows outside every span.
  int32_t* span_of_row;
  // Largest score, sum of weights and weighted sums of each row, head and slice, if slices have blocks of
  // their own.
  float* partial;
  int32_t* fault;
  int64_t tokens, cache_rows;
  int32_t span_count, blocks, block, heads, kv_heads, width, window, slices;
  int32_t outside_rows, outside_table, outside_cache;
  float scale, cap;
  Dtype dtype, sinks_dtype;
};

}  // namespace cairn::cuda
