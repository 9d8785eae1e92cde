// Records the last access to each byte of shared memory and pending asynchronous copies to it. Detects races:
// two accesses, at least one of them a write, by threads that no barrier and no bar.warp.sync has ordered.
//
// Time is the number of synchronisations in the block. known[w][v] is the time up to which warp w has seen
// what warp v did; an access of v at time t is ordered before one of w when known[w][v] > t. Words are kept
// whole, until an access smaller than a word splits them into bytes.
#pragma once
#include <unordered_map>
#include <vector>

#include "machine.h"

namespace emulator {

struct Touch {
  u32 write_time = 0;
  u32 read_time = 0;
  u32 read_warps = 0;
  u16 writer = 0xffff;  // warp * 32 + lane; 0xffff for none
  u8 read_lane = 0;     // kLanes if several lanes have read
  u8 flags = 0;
};
enum TouchFlag : u8 { kInFlight = 1, kSplit = 2, kAtomic = 4 };

class Shadow {
 public:
  void reset(u32 bytes, u32 warps);
  void read(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void write(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  /// Atomic operations do not race with each other, only with plain accesses.
  void atomic(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void start_copy(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void land_copy(u32 warp, u32 lane, u32 at, u32 size);
  void sync_warp(u32 warp);
  void sync_warps(Mask warps);

 private:
  std::vector<Touch> words_;
  std::unordered_map<u32, std::array<Touch, 4>> bytes_;
  std::vector<u32> known_;  // warps × warps
  u32 warps_ = 0;
  u32 time_ = 1;

  template <class Check>
  void visit(u32 at, u32 size, Check check);
  u32 known(u32 warp, u32 of) const { return known_[warp * warps_ + of]; }
  void check_read(Touch& touch, const Warp& warp, const Instruction& i, u32 lane);
  void check_write(Touch& touch, const Warp& warp, const Instruction& i, u32 lane);
  std::string name_thread(u32 warp, u32 lane, u32 of_warp) const;
};

}  // namespace emulator
