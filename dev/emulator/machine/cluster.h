// Blocks that run together and see each other's shared memory. A launch without clusters has clusters of one
// block. A cluster runs on one thread of the host.
#pragma once
#include <memory>

#include "block.h"

namespace emulator {

constexpr u32 kMaxClusterBlocks = 8;

class Cluster {
 public:
  Clocks clocks;

  /// Runs the cluster of this number and adds its counts.
  void run(const Launch& launch, u64 index, Counts& counts);
  Block& block(u32 rank) { return *blocks_[rank]; }
  u32 size() const { return size_; }
  /// barrier.cluster. A relaxed arrival orders no accesses.
  void arrive(Warp& warp, const Instruction& i, bool releases);
  void wait(Warp& warp, const Instruction& i);

 private:
  std::vector<std::unique_ptr<Block>> blocks_;  // kept across launches
  u32 size_ = 0;
  u32 phase_ = 0;  // of the barrier
  Clock releasing_, released_;

  void start(const Launch& launch, u64 index);
  bool land_copies();
  bool can_wait(u32 idle) const;
  bool complete_barrier();
  void finish_wait(Warp& warp);
  void check_end(const Block& block);
  [[noreturn]] void report_deadlock();
};

}  // namespace emulator
