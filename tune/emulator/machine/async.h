// Asynchronous copies of a warp's lanes, and reductions at a barrier.
#pragma once
#include "machine.h"

namespace emulator {

enum Reduce : u64 { kReducePopc = 1, kReduceAnd, kReduceOr };

/// Copies of `lanes` in groups that are not among their `pending` newest land now.
void land_copies(Warp& warp, Mask lanes, u32 pending);

}  // namespace emulator
