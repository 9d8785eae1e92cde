// Tiles of rows that belong to spans of different lengths: the rows of experts, the tokens of documents. Each
// span starts with its own tile. A grid has the maximum number of tiles, because the ends of spans are data.
#pragma once
#include <cstdint>

#include "warp.h"

namespace cairn::cuda {

struct RaggedTile {
  int span;
  // First row of the span and of the tile; end of the span.
  int start, row, end;
};

// Finds tile `index` of `size` rows for spans that end at `ends`. False past the last. All lanes of a warp
// search together.
__device__ inline bool find_tile(const int32_t* ends, int spans, int size, int index, RaggedTile& to) {
  const int lane = int(threadIdx.x) % kWarp;
  for (int first = 0, before = 0; first < spans; first += kWarp) {
    const int i = first + lane, end = i < spans ? ends[i] : 0, start = i < spans && i > 0 ? ends[i - 1] : 0,
              tiles = i < spans ? (end - start + size - 1) / size : 0;
    int sum = tiles;
    for (int step = 1; step < kWarp; step *= 2) {
      const int other = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += other;
    }
    const unsigned past = __ballot_sync(kAllLanes, before + sum > index);
    if (past != 0) {
      const int owner = __ffs(int(past)) - 1;
      to.span = first + owner;
      to.start = __shfl_sync(kAllLanes, start, owner);
      to.row = __shfl_sync(kAllLanes, start + (index - before - sum + tiles) * size, owner);
      to.end = __shfl_sync(kAllLanes, end, owner);
      return true;
    }
    before += __shfl_sync(kAllLanes, sum, kWarp - 1);
  }
  return false;
}

}  // namespace cairn::cuda
