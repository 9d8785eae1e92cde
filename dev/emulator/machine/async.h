// Asynchronous copies of a warp's lanes, and kinds of reductions at a barrier.
#pragma once
#include "machine.h"

namespace emulator {

enum Reduce : u64 { kReducePopc = 1, kReduceAnd, kReduceOr };

/// Completes copies of `lanes`, except those in the newest `pending` groups.
void land_copies(Warp& warp, Mask lanes, u32 pending);

}  // namespace emulator
