// The table of one instruction set's kernels, in the order of the op table.
#include "kernels.h"

namespace cairn::CAIRN_ISA {

extern const Kernel* const kTable;
const Kernel* const kTable = kKernels;
extern const ScratchOf* const kScratchTable;
const ScratchOf* const kScratchTable = kScratchOf;

}  // namespace cairn::CAIRN_ISA
