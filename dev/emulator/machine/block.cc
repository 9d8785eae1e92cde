// Runs a block: each warp in turn until it waits, until all have ended.
#include "block.h"

#include <algorithm>
#include <thread>

#include "async.h"
#include "memory.h"

namespace emulator {

constexpr u32 kMaxPolls = 1 << 22;
// A warp may pass several failed waits before it comes to the one at which it stays.
constexpr u32 kMaxIdle = 8;

void Counts::add(const Counts& other) {
  auto* to = reinterpret_cast<u64*>(this);
  auto* from = reinterpret_cast<const u64*>(&other);
  for (size_t i = 0; i < sizeof(Counts) / sizeof(u64); ++i) to[i] += from[i];
}

namespace {

u64 seed_of(const std::array<u32, 3>& at) {
  return Settings::get().seed * 0x9e3779b97f4a7c15 + at[0] + (u64(at[1]) << 20) + (u64(at[2]) << 40);
}

std::string describe_wait(const Warp& warp) {
  if (warp.state == WarpState::at_barrier)
    return " waits at barrier " + std::to_string(warp.barrier) + " of line " +
           std::to_string(warp.barrier_instruction->line);
  std::string text = " waits at line " + std::to_string(warp.code->instructions[warp.pc].line);
  const Mbarrier* mbarrier = warp.awaited == kNone ? nullptr : warp.block->mbarriers.find(warp.awaited);
  if (mbarrier) text += " for parity " + std::to_string(warp.awaited_parity) + ": " + mbarrier->describe();
  return text;
}

}  // namespace

void Block::prepare(const Launch& with) {
  launch = &with;
  const Code& code = *with.code;
  u32 threads = with.threads[0] * with.threads[1] * with.threads[2];
  u32 count = (threads + kLanes - 1) / kLanes;
  warps.resize(count);
  register_file.resize(size_t(code.register_bytes) * count + 64);
  local_file.resize(size_t(code.local_bytes) * kLanes * count);
  shared_bytes = code.shared_bytes + with.dynamic_shared;
  shared_storage.resize(shared_bytes + 256);
  shared = shared_storage.data() + (-reinterpret_cast<uintptr_t>(shared_storage.data()) & 127);
  // NaN in every format, and an out-of-bounds index.
  std::memset(shared, 0xff, shared_bytes);
  std::fill(local_file.begin(), local_file.end(), std::byte{0xff});
  barriers.fill({});
  mbarriers.reset();
  bulk_copies.reset(seed_of(coordinates));
  tick = 0;
  range = {};
  shadow.reset(shared_bytes, count);
  for (u32 i = 0; i < count; ++i) start_warp(i, threads);
}

void Block::start_warp(u32 index, u32 threads) {
  const Code& code = *launch->code;
  Warp& warp = warps[index];
  auto aligned = (reinterpret_cast<uintptr_t>(register_file.data()) + 63) & ~uintptr_t(63);
  warp.block = this;
  warp.registers = reinterpret_cast<std::byte*>(aligned) + size_t(code.register_bytes) * index;
  warp.code = &code;
  warp.index = index;
  u32 lanes = std::min(u32(kLanes), threads - index * kLanes);
  warp.present = lanes == kLanes ? kAllLanes : (1u << lanes) - 1;
  warp.exited = 0;
  warp.active = warp.present;
  warp.pc = 0;
  warp.merge_pc = kNone;
  warp.state = WarpState::ready;
  warp.awaited = kNone;
  warp.waiting.clear();
  warp.copies.clear();
  warp.committed.fill(0);
  warp.matmuls.clear();
  warp.saved_sums.clear();
  warp.product_groups = 0;
  warp.executed = 0;
  warp.local = local_file.data() + size_t(code.local_bytes) * kLanes * index;
  std::memset(warp.registers, 0xff, code.constants_at);
  std::memcpy(warp.registers + code.constants_at, code.constants.data(), code.constants.size());
  const auto& size = launch->threads;
  for (int special = 0; special < kSpecials; ++special) {
    if (code.special_at[special] == kNone) continue;
    u32* lanes_of = warp.at<u32>(code.special_at[special]);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      u32 thread = index * kLanes + lane;
      const u32 values[kSpecials] = {thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1],
          size[0], size[1], size[2], coordinates[0], coordinates[1], coordinates[2], launch->grid[0],
          launch->grid[1], launch->grid[2], lane, index, u32(warps.size()), 0, 1, 1u << lane,
          (1u << lane) - 1, lane == 31 ? kAllLanes : (2u << lane) - 1, lane == 31 ? 0 : ~0u << (lane + 1),
          ~0u << lane, launch->dynamic_shared, shared_bytes, 0, 1, 0};
      lanes_of[lane] = values[special];
    }
  }
}

void Block::arrive(Warp& warp, const Instruction& i, u32 index, u32 expected, bool waits) {
  if (index >= barriers.size())
    fault(warp, i, "there are 16 barriers, and this is number " + std::to_string(index));
  Barrier& barrier = barriers[index];
  if (barrier.arrived >> warp.index & 1)
    fault(warp, i,
        "the warp is at barrier " + std::to_string(index) + " for the second time before it completed");
  if (expected % kLanes) fault(warp, i, "a barrier's count of threads is no multiple of 32");
  u32 all = u32(warps.size()) * kLanes;
  if (barrier.expected && barrier.expected != (expected ? expected : all))
    fault(warp, i, "warps name different counts of threads at barrier " + std::to_string(index));
  barrier.expected = expected ? expected : all;
  barrier.arrived |= 1u << warp.index;
  barrier.threads += kLanes;
  if (waits) {
    warp.state = WarpState::at_barrier;
    warp.barrier = index;
    warp.barrier_instruction = &i;
    warp.barrier_lanes = warp.mask;
  }
  if (barrier.threads == barrier.expected) complete(barrier, index);
}

void Block::complete(Barrier& barrier, u32 index) {
  shadow.sync_warps(barrier.arrived);
  u32 holding = 0;
  bool all = true;
  for (Warp& warp : warps) {
    if (warp.state != WarpState::at_barrier || warp.barrier != index) continue;
    if (warp.barrier_instruction->a == kNone) continue;
    Mask holds =
        (warp.predicate(warp.barrier_instruction->a) ^ warp.barrier_instruction->target) & warp.barrier_lanes;
    holding += u32(__builtin_popcount(holds));
    all &= holds == warp.barrier_lanes;
  }
  for (Warp& warp : warps) {
    if (warp.state != WarpState::at_barrier || warp.barrier != index) continue;
    warp.state = WarpState::ready;
    const Instruction& i = *warp.barrier_instruction;
    if (i.a == kNone) continue;
    if (i.detail == kReducePopc) {
      for (int lane = 0; lane < kLanes; ++lane) warp.at<u32>(i.to)[lane] = holding;
    } else {
      bool result = i.detail == kReduceAnd ? all : holding > 0;
      Mask& to = warp.predicate(i.to);
      to = result ? to | warp.barrier_lanes : to & ~warp.barrier_lanes;
    }
  }
  barrier = {};
}

void Block::report_deadlock() {
  std::string text;
  const Warp* first = nullptr;
  for (const Warp& warp : warps) {
    if (warp.state == WarpState::done) continue;
    if (!first) first = &warp;
    text += "; warp " + std::to_string(warp.index) + describe_wait(warp);
  }
  u32 ended =
      u32(std::count_if(warps.begin(), warps.end(), [](auto& w) { return w.state == WarpState::done; }));
  const Instruction& at = first->state == WarpState::at_barrier ? *first->barrier_instruction
                                                                : first->code->instructions[first->pc];
  fault(*first, at,
      "deadlock: " + std::to_string(ended) + " of " + std::to_string(warps.size()) +
          " warps have ended, the others wait for ever" + text);
}

void Block::run(const Launch& with, std::array<u32, 3> at) {
  coordinates = at;
  prepare(with);
  const Settings& settings = Settings::get();
  std::vector<u32> order(warps.size());
  for (u32 i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937_64 random(seed_of(at));
  u64 executed = 0;
  for (u32 idle = 0;;) {
    if (settings.shuffles_warps) std::shuffle(order.begin(), order.end(), random);
    bool is_done = true, moved = false;
    for (u32 index : order) {
      Warp& warp = warps[index];
      if (warp.state == WarpState::polling) {
        warp.state = WarpState::ready;
        warp.awaited = kNone;
      }
      if (warp.state == WarpState::ready) {
        u64 before = warp.executed;
        u32 ticks = tick;
        warp.run();
        executed += warp.executed - before;
        // A failed poll is not progress.
        moved |= warp.state != WarpState::polling || tick != ticks || warp.executed - before > 64;
      }
      is_done &= warp.state == WarpState::done;
      bulk_copies.turn(*this);
    }
    if (is_done) break;
    moved |= bulk_copies.is_moving();
    if (!moved) moved = bulk_copies.land_awaited(*this);
    idle = moved ? 0 : idle + 1;
    if (idle > 1) {
      // A polling warp may wait for a block on another thread. A warp at a barrier or an mbarrier waits for
      // this block.
      bool polls = false, polls_here = false;
      for (const Warp& w : warps)
        if (w.state == WarpState::polling) (w.awaited == kNone ? polls : polls_here) = true;
      if ((!polls && (!polls_here || idle > kMaxIdle)) || idle > kMaxPolls) report_deadlock();
      std::this_thread::yield();
    }
    if (executed > settings.instruction_limit)
      for (Warp& warp : warps)
        if (warp.state != WarpState::done)
          fault(warp, warp.code->instructions[warp.pc],
              "the block does not end: " + std::to_string(executed) + " warp instructions");
  }
  bulk_copies.finish();
  counts.warp_instructions += executed;
}

}  // namespace emulator
