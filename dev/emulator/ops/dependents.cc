// griddepcontrol, and its checks of global memory.
#include "access.h"

namespace emulator {

void check_unfinished(Warp& w, const Instruction& i, const Addresses& addresses, u32 size) {
  const Sectors& unfinished = *w.block->dependency.unfinished;
  each_lane(w.mask, [&](u32 lane) {
    u64 at = addresses.at[lane];
    if (unfinished.contains(at / 32) || unfinished.contains((at + size - 1) / 32))
      fault(w, i,
          "lane " + std::to_string(lane) + " accesses " + std::to_string(size) + " bytes at " + hex(at) +
              " before griddepcontrol.wait, which the launch before this one writes");
  });
}

void note_write(Warp& w, const Instruction& i, const Addresses& addresses, u32 size) {
  Dependency& dependency = w.block->dependency;
  if (dependency.unfinished)
    fault(w, i, "writes global memory before griddepcontrol.wait, while the launch before it may still run");
  if (!dependency.records) return;
  each_lane(w.mask, [&](u32 lane) {
    dependency.writes.insert(addresses.at[lane] / 32);
    dependency.writes.insert((addresses.at[lane] + size - 1) / 32);
  });
}

namespace {

void run_wait(Warp& w, const Instruction&) { w.block->dependency.wait(); }
void run_launch(Warp& w, const Instruction&) { w.block->dependency.launch_dependents(); }

void decode_dependents(Decoder& decoder, const Statement& s, Instruction& i) {
  Parts parts(s);
  bool waits = parts.take("wait");
  if (!waits && !parts.take("launch_dependents"))
    refuse(s.line, "the emulator does not know " + join_opcode(s.opcode));
  parts.expect_none();
  (waits ? decoder.code().waits_for_primary : decoder.code().launches_dependents) = true;
  i.run = waits ? run_wait : run_launch;
}

}  // namespace

void add_dependent_ops(DecodeTable& table) { table["griddepcontrol"] = decode_dependents; }

}  // namespace emulator
