// Divergence and reconvergence of a warp's lanes. The group with the lowest program counter runs, so that
// lanes that left a branch early wait for the others at the point where the paths join. This needs no markers
// from the compiler.
#include "block.h"
#include "machine.h"

namespace emulator {

std::string list_lanes(Mask lanes) {
  std::string text;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    int last = lane;
    while (last + 1 < kLanes && (lanes >> (last + 1) & 1)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(lane);
    if (last > lane) text += "-" + std::to_string(last);
    lane = last;
  }
  return text;
}

void fault(const Warp& warp, const Instruction& i, const std::string& what) {
  const auto& at = warp.block->coordinates;
  const Code& code = *warp.code;
  size_t index = size_t(&i - code.instructions.data());
  throw Fault(code.kernel + " line " + std::to_string(i.line) + " (" + code.names[index] + ") block " +
              std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) + " warp " +
              std::to_string(warp.index) + ": " + what);
}

void Warp::regroup() {
  // Merges the running group with those waiting at the same instruction.
  for (size_t i = 0; i < waiting.size();) {
    if (waiting[i].pc == pc && active) {
      active |= waiting[i].lanes;
      waiting.erase(waiting.begin() + long(i));
    } else {
      ++i;
    }
  }
  size_t first = waiting.size();
  for (size_t i = 0; i < waiting.size(); ++i)
    if (!waiting[i].is_parked && (first == waiting.size() || waiting[i].pc < waiting[first].pc)) first = i;
  if (first < waiting.size() && (!active || waiting[first].pc < pc)) {
    Group next = waiting[first];
    waiting.erase(waiting.begin() + long(first));
    if (active) waiting.push_back({pc, active, false});
    active = next.lanes;
    pc = next.pc;
    return regroup();
  }
  merge_pc = kNone;
  for (const Group& group : waiting)
    if (group.pc > pc || !group.is_parked) merge_pc = std::min(merge_pc, group.pc);
}

void Warp::branch(Mask lanes, u32 target) {
  if (lanes == active) {
    pc = target;
  } else {
    waiting.push_back({target, lanes, false});
    active &= ~lanes;
  }
  regroup();
}

void Warp::exit(Mask lanes) {
  exited |= lanes;
  active &= ~lanes;
  if (alive() == 0) {
    state = WarpState::done;
    return;
  }
  if (active) return;
  regroup();
  if (active) return;
  // Only parked groups are left. Run one of them, which then reports the missing lanes.
  Group group = waiting.back();
  waiting.pop_back();
  pc = group.pc;
  active = group.lanes;
  regroup();
}

void Warp::park() {
  waiting.push_back({pc - 1, active, true});
  active = 0;
  regroup();
}

bool Warp::gather(const Instruction& i, Mask wanted, const char* what) {
  Mask missing = wanted & present & ~mask;
  if (!missing) return true;
  Mask gone = missing & exited;
  if (gone)
    fault(*this, i,
        std::string(what) + " is reached by a part of the warp: lanes " + list_lanes(gone) +
            " have exited, lanes " + list_lanes(mask) + " are here");
  Mask guarded = missing & active;
  bool others_run = false;
  for (const Group& group : waiting) others_run |= !group.is_parked;
  if (guarded || !others_run)
    fault(*this, i,
        std::string(what) + " is reached by a part of the warp: lanes " + list_lanes(mask) +
            " are here, lanes " + list_lanes(missing) + " are not");
  park();
  return false;
}

void Warp::run() {
  const Instruction* instructions = code->instructions.data();
  u64 budget = 1 << 20;
  while (state == WarpState::ready && budget--) {
    if (pc >= merge_pc) regroup();
    const Instruction& i = instructions[pc++];
    mask = active;
    if (i.guard != kNone) {
      mask &= predicate(i.guard) ^ i.guard_flip;
      if (!mask) continue;
    }
    ++executed;
    if (!matmuls.empty()) check_products(*this, i);
    i.run(*this, i);
  }
}

}  // namespace emulator
