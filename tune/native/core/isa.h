// The instruction sets that the kernels were compiled for, and those that this processor supports.
#pragma once
#include <string>
#include <vector>

#include "call.h"

namespace cairn {

struct Isa {
  const char* name;
  const Kernel* kernels;
  const ScratchOf* scratch;
  // Arithmetic rate of a loop that never leaves the registers, in FLOP/s: the peak that benchmarks divide by.
  double (*peak)(Arithmetic arithmetic);
};

// Slowest first.
std::vector<Isa> supported_isas();

}  // namespace cairn
