#include "cluster.h"

#include <algorithm>
#include <thread>

namespace emulator {

constexpr u32 kMaxPolls = 1 << 22;
// A warp may pass several failed waits before it comes to the one at which it stays.
constexpr u32 kMaxIdle = 8;

void Cluster::start(const Launch& launch, u64 index) {
  const auto &grid = launch.grid, &of = launch.cluster;
  size_ = of[0] * of[1] * of[2];
  while (blocks_.size() < size_) blocks_.push_back(std::make_unique<Block>());
  u32 threads = launch.threads[0] * launch.threads[1] * launch.threads[2];
  clocks.reset((threads + kLanes - 1) / kLanes * size_);
  phase_ = 0;
  releasing_ = {};
  released_ = {};
  const u64 clusters[] = {grid[0] / of[0], grid[1] / of[1]};
  u32 x = u32(index % clusters[0]) * of[0], y = u32(index / clusters[0] % clusters[1]) * of[1],
      z = u32(index / clusters[0] / clusters[1]) * of[2];
  for (u32 rank = 0; rank < size_; ++rank)
    blocks_[rank]->start(launch,
        {x + rank % of[0], y + rank / of[0] % of[1], z + rank / of[0] / of[1]}, *this, rank);
}

void Cluster::run(const Launch& launch, u64 index, Counts& counts) {
  start(launch, index);
  u32 left = size_;
  for (u32 idle = 0; left;) {
    bool moved = false;
    for (u32 rank = 0; rank < size_; ++rank) {
      Block& block = *blocks_[rank];
      if (block.is_done) continue;
      moved |= block.run_round();
      if (!block.is_done) continue;
      check_end(block);
      block.dependency.finish();
      counts.add(block.counts);
      block.counts = {};
      --left;
    }
    moved |= complete_barrier();
    if (!moved) moved = land_copies();
    idle = moved ? 0 : idle + 1;
    if (idle > 1) {
      if (!can_wait(idle)) report_deadlock();
      std::this_thread::yield();
    }
  }
}

// When no warp of the cluster moves, the copies that one waits for complete.
bool Cluster::land_copies() {
  bool landed = false;
  for (u32 rank = 0; rank < size_; ++rank) landed |= blocks_[rank]->bulk_copies.land_awaited(*blocks_[rank]);
  return landed;
}

// A polling warp may wait for a cluster on another thread. A warp at a barrier or an mbarrier waits for this
// cluster.
bool Cluster::can_wait(u32 idle) const {
  bool polls = false, polls_here = false;
  for (u32 rank = 0; rank < size_; ++rank)
    for (const Warp& warp : blocks_[rank]->warps)
      if (warp.state == WarpState::polling) (warp.awaited == kNone ? polls : polls_here) = true;
  return idle <= kMaxPolls && (polls || (polls_here && idle <= kMaxIdle));
}

void Cluster::report_deadlock() {
  std::string text;
  const Warp* first = nullptr;
  size_t ended = 0, warps = 0;
  for (u32 rank = 0; rank < size_; ++rank) {
    const Block& block = *blocks_[rank];
    block.describe_waiting(text, first);
    warps += block.warps.size();
    ended += size_t(std::count_if(block.warps.begin(), block.warps.end(),
        [](const Warp& w) { return w.state == WarpState::done; }));
  }
  bool is_at_barrier =
      first->state == WarpState::at_barrier || first->state == WarpState::at_cluster_barrier;
  const Instruction& at = is_at_barrier ? *first->barrier_instruction : first->code->instructions[first->pc];
  fault(*first, at,
      "deadlock: " + std::to_string(ended) + " of " + std::to_string(warps) +
          " warps have ended, the others wait for ever" + text);
}

void Cluster::arrive(Warp& warp, const Instruction& i, bool releases) {
  if (warp.has_arrived)
    fault(warp, i, "the warp arrives at the cluster's barrier twice without a wait between");
  warp.has_arrived = true;
  warp.cluster_phase = phase_;
  if (releases) clocks.release(id_of(warp), warp.mask, warp.alive(), releasing_);
  complete_barrier();
}

void Cluster::wait(Warp& warp, const Instruction& i) {
  if (!warp.has_arrived) fault(warp, i, "the warp waits at the cluster's barrier without having arrived");
  if (warp.cluster_phase == phase_) {
    warp.state = WarpState::at_cluster_barrier;
    warp.barrier_instruction = &i;
    return;
  }
  finish_wait(warp);
}

void Cluster::finish_wait(Warp& warp) {
  warp.has_arrived = false;
  warp.block->knows_peers = true;
  clocks.acquire(id_of(warp), warp.alive(), warp.alive(), released_);
}

// Warps that have ended are not waited for.
bool Cluster::complete_barrier() {
  bool has_arrivals = false;
  for (u32 rank = 0; rank < size_; ++rank)
    for (const Warp& warp : blocks_[rank]->warps) {
      bool is_here = warp.has_arrived && warp.cluster_phase == phase_;
      if (!is_here && warp.state != WarpState::done) return false;
      has_arrivals |= is_here;
    }
  if (!has_arrivals) return false;
  ++phase_;
  released_ = std::move(releasing_);
  releasing_ = {};
  bool moved = false;
  for (u32 rank = 0; rank < size_; ++rank)
    for (Warp& warp : blocks_[rank]->warps) {
      if (warp.state != WarpState::at_cluster_barrier) continue;
      warp.state = WarpState::ready;
      finish_wait(warp);
      moved = true;
    }
  return moved;
}

// A block's shared memory exists until its last warp ends, so one of its warps must have seen each access.
void Cluster::check_end(const Block& block) {
  auto is_seen = [&](u32 thread, u32 time) {
    u32 end = block.first_warp + u32(block.warps.size());
    for (u32 warp = block.first_warp; warp < end; ++warp)
      for (u32 lane = 0; lane < kLanes; ++lane)
        if (clocks.has_seen(warp, lane, thread / kLanes, thread, time)) return true;
    return false;
  };
  for (const auto& [thread, access] : block.peer_accesses)
    if (!is_seen(thread, access.time))
      fault(*access.warp, *access.at,
          "the cluster's block " + std::to_string(block.rank) +
              " can end before this access to its shared memory: it waits for no barrier.cluster after it");
}

}  // namespace emulator
