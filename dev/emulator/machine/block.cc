// Runs a block: each warp in turn until it waits, until all have ended.
#include "block.h"

#include <algorithm>

#include "async.h"
#include "cluster.h"
#include "memory.h"

namespace emulator {
namespace {

// Registers of a thread when the kernel starts, which ptxas derives from these directives in multiples of 8.
u32 first_register_limit(const Code& code) {
  u32 threads = std::max(1u, code.max_threads) * std::max(1u, code.min_blocks);
  return code.max_registers ? code.max_registers : std::min(256u, 65536 / threads / 8 * 8);
}

u64 seed_of(const std::array<u32, 3>& at) {
  return Settings::get().seed * 0x9e3779b97f4a7c15 + at[0] + (u64(at[1]) << 20) + (u64(at[2]) << 40);
}

std::string describe_wait(const Warp& warp) {
  const Instruction& next = warp.code->instructions[warp.pc];
  std::string text = "line " + std::to_string(next.line);
  switch (warp.state) {
    case WarpState::at_barrier:
      return "barrier " + std::to_string(warp.barrier) + " of line " +
             std::to_string(warp.barrier_instruction->line);
    case WarpState::at_cluster_barrier:
      return "the cluster's barrier of line " + std::to_string(warp.barrier_instruction->line);
    case WarpState::needs_registers:
      return text + " for " + std::to_string(next.detail - warp.register_limit) + " registers a thread; " +
             std::to_string(warp.block->free_registers / kLanes) + " are free";
    default:
      break;
  }
  const Mbarrier* mbarrier = warp.awaited == kNone ? nullptr : warp.block->mbarriers.find(warp.awaited);
  if (mbarrier) text += " for parity " + std::to_string(warp.awaited_parity) + ": " + mbarrier->describe();
  return text;
}

}  // namespace

void Counts::add(const Counts& other) {
  auto* to = reinterpret_cast<u64*>(this);
  auto* from = reinterpret_cast<const u64*>(&other);
  for (size_t i = 0; i < sizeof(Counts) / sizeof(u64); ++i) to[i] += from[i];
}

void Block::prepare(const Launch& with) {
  launch = &with;
  const Code& code = *with.code;
  u32 threads = with.threads[0] * with.threads[1] * with.threads[2];
  u32 count = (threads + kLanes - 1) / kLanes;
  warps.resize(count);
  first_warp = rank * count;
  register_file.resize(size_t(code.register_bytes) * count + 64);
  local_file.resize(size_t(code.local_bytes) * kLanes * count);
  shared_bytes = code.shared_bytes + with.dynamic_shared;
  shared_storage.resize(shared_bytes + 256);
  shared = shared_storage.data() + (-reinterpret_cast<uintptr_t>(shared_storage.data()) & 127);
  // NaN in every format, and an out-of-bounds index.
  std::memset(shared, 0xff, shared_bytes);
  std::fill(local_file.begin(), local_file.end(), std::byte{0xff});
  barriers.fill({});
  mbarriers.reset(*this);
  bulk_copies.reset(seed_of(coordinates));
  tick = 0;
  range = {};
  shadow.reset(*this, cluster->clocks);
  counts = {};
  dependency.start(code);
  const auto& grid = with.grid;
  handover.start(code, coordinates[0] + grid[0] * (coordinates[1] + grid[1] * coordinates[2]));
  groups.assign((count + 3) / 4, {});
  free_registers = 0;
  peer_accesses.clear();
  knows_peers = is_done = false;
  executed_ = 0;
  order_.resize(count);
  for (u32 i = 0; i < count; ++i) order_[i] = i;
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
  warp.product_groups = warp.finished_groups = 0;
  warp.product_registers.assign(code.register_bytes / 64, 0);
  warp.group_steps = 0;
  warp.register_limit = first_register_limit(code);
  warp.has_arrived = false;
  warp.executed = 0;
  warp.local = local_file.data() + size_t(code.local_bytes) * kLanes * index;
  std::memset(warp.registers, 0xff, code.constants_at);
  std::memcpy(warp.registers + code.constants_at, code.constants.data(), code.constants.size());
  fill_specials(warp);
}

void Block::fill_specials(Warp& warp) {
  const auto &size = launch->threads, &grid = launch->grid, &of = launch->cluster, &at = coordinates;
  const u32 blocks = of[0] * of[1] * of[2];
  for (u32 lane = 0; lane < kLanes; ++lane) {
    u32 thread = warp.index * kLanes + lane;
    const u32 values[kSpecials] = {thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1],
        size[0], size[1], size[2], at[0], at[1], at[2], grid[0], grid[1], grid[2], lane, warp.index,
        u32(warps.size()), 0, 1, 1u << lane, (1u << lane) - 1, lane == 31 ? kAllLanes : (2u << lane) - 1,
        lane == 31 ? 0 : ~0u << (lane + 1), ~0u << lane, launch->dynamic_shared, shared_bytes, 0,
        at[0] / of[0], at[1] / of[1], at[2] / of[2], grid[0] / of[0], grid[1] / of[1], grid[2] / of[2],
        at[0] % of[0], at[1] % of[1], at[2] % of[2], of[0], of[1], of[2], rank, blocks};
    for (int special = 0; special < kSpecials; ++special)
      if (warp.code->special_at[special] != kNone)
        warp.at<u32>(warp.code->special_at[special])[lane] = values[special];
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
  cluster->clocks.sync_warps(first_warp, barrier.arrived);
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

void Block::describe_waiting(std::string& text, const Warp*& first) const {
  for (const Warp& warp : warps) {
    if (warp.state == WarpState::done) continue;
    if (!first) first = &warp;
    text += launch->cluster == std::array<u32, 3>{1, 1, 1} ? "; warp "
                                                            : "; block " + std::to_string(rank) + " warp ";
    text += std::to_string(warp.index) + " waits at " + describe_wait(warp);
  }
}

void Block::start(const Launch& with, std::array<u32, 3> at, Cluster& in, u32 as_rank) {
  coordinates = at;
  cluster = &in;
  rank = as_rank;
  prepare(with);
  random_.seed(seed_of(at));
}

bool Block::run_round() {
  const Settings& settings = Settings::get();
  if (settings.shuffles_warps) std::shuffle(order_.begin(), order_.end(), random_);
  bool moved = false;
  is_done = true;
  for (u32 index : order_) {
    Warp& warp = warps[index];
    if (warp.state == WarpState::polling) {
      warp.state = WarpState::ready;
      warp.awaited = kNone;
    }
    if (warp.state == WarpState::ready) {
      u64 before = warp.executed;
      u32 ticks = tick;
      warp.run();
      executed_ += warp.executed - before;
      // A failed poll is not progress.
      moved |= warp.state != WarpState::polling || tick != ticks || warp.executed - before > 64;
    }
    is_done &= warp.state == WarpState::done;
    bulk_copies.turn(*this);
  }
  if (executed_ > settings.instruction_limit)
    for (Warp& warp : warps)
      if (warp.state != WarpState::done)
        fault(warp, warp.code->instructions[warp.pc],
            "the block does not end: " + std::to_string(executed_) + " warp instructions");
  if (!is_done) return moved || bulk_copies.is_moving();
  check_groups();
  bulk_copies.finish();
  counts.warp_instructions += executed_;
  return true;
}

}  // namespace emulator
