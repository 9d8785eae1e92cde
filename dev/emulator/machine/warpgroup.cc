// What the four warps of a warpgroup do together, and the registers that they share out.
#include <algorithm>

#include "block.h"

namespace emulator {

constexpr u32 kGroupWarps = 4;

void Block::step_group(Warp& warp, const Instruction& i, u64 a, u64 b) {
  u32 first = warp.index / kGroupWarps * kGroupWarps;
  if (first + kGroupWarps > warps.size() || warps[first + kGroupWarps - 1].present != kAllLanes)
    fault(warp, i,
        "it needs the four warps of a warpgroup, and this block has " + std::to_string(warps.size()) +
            " warps");
  WarpGroup& group = groups[warp.index / kGroupWarps];
  u32 at = warp.group_steps++ - group.first;
  if (at == group.steps.size()) group.steps.push_back({&i, a, b});
  const WarpGroup::Step& step = group.steps[at];
  if (step.at != &i)
    fault(warp, i,
        "another warp of the warpgroup runs line " + std::to_string(step.at->line) + " at this point");
  if (step.a != a || step.b != b)
    fault(warp, i, "the warps of the warpgroup name different matrices in shared memory");
  u32 all = kNone;
  for (u32 k = 0; k < kGroupWarps; ++k) all = std::min(all, warps[first + k].group_steps);
  for (; group.first < all; ++group.first) group.steps.pop_front();
}

void Block::check_groups() {
  for (size_t index = 0; index < groups.size(); ++index) {
    if (groups[index].steps.empty()) continue;
    std::string text;
    for (size_t k = index * kGroupWarps; k < std::min((index + 1) * kGroupWarps, warps.size()); ++k)
      if (warps[k].group_steps == groups[index].first) text += " " + std::to_string(k);
    fault(warps[index * kGroupWarps], *groups[index].steps.front().at,
        "is not reached by all warps of the warpgroup: missing are the warps" + text);
  }
}

bool Block::set_registers(Warp& warp, u32 count) {
  u32 held = warp.register_limit * kLanes, wanted = count * kLanes;
  if (wanted > held + free_registers) return false;
  free_registers = free_registers + held - wanted;
  warp.register_limit = count;
  if (wanted < held)
    for (Warp& other : warps)
      if (other.state == WarpState::needs_registers) other.state = WarpState::ready;
  return true;
}

}  // namespace emulator
