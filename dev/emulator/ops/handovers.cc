// Checks of global memory that blocks of a launch hand over to each other, and the fences that order it.
#include "access.h"

namespace emulator {

void note_own_write(Warp& w, const Addresses& addresses, u32 size) {
  if (!w.block->handover.is_checked) return;
  each_lane(w.mask, [&](u32 lane) { w.block->handover.write(addresses.at[lane], size); });
}

void check_handover(Warp& w, const Instruction& i, const Addresses& addresses, u32 size) {
  if (!w.block->handover.is_checked) return;
  each_lane(w.mask, [&](u32 lane) {
    u32 found = w.block->handover.find_unordered(addresses.at[lane], size);
    if (found)
      fault(w, i,
          "lane " + std::to_string(lane) + " reads " + std::to_string(size) + " bytes at " +
              hex(addresses.at[lane]) + " that block number " + std::to_string(found - 1) +
              " wrote in this launch, without a release by that block and an acquire by this one between");
  });
}

namespace {

void run_fence(Warp& w, const Instruction&) {
  w.block->handover.release();
  w.block->handover.acquire();
}
void run_nothing(Warp&, const Instruction&) {}

}  // namespace

void decode_memory_fence(Decoder&, const Statement& s, Instruction& i) {
  auto has = [&](const char* part) { return std::ranges::find(s.opcode, part) != s.opcode.end(); };
  i.run = has("gpu") || has("gl") || has("sys") ? run_fence : run_nothing;
}

}  // namespace emulator
