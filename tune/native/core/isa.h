// Which instruction sets the kernels were compiled for, and which of them this processor has.
#pragma once
#include <string>
#include <vector>

#include "call.h"

namespace cairn {

struct Isa {
  const char* name;
  const Kernel* kernels;
  const ScratchOf* scratch;
  // Arithmetic in a loop that never leaves the registers, in FLOP/s: the ceiling that benchmarks divide by.
  double (*peak)(Arithmetic arithmetic);
};

// Slowest first.
std::vector<Isa> supported_isas();

}  // namespace cairn
