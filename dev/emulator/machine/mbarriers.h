// mbarriers of a block, which warps of its cluster use. Each counts the arrivals and bytes that its current
// phase still needs, and keeps the accesses that they publish.
#pragma once
#include "shadow.h"

namespace emulator {

struct Mbarrier {
  u32 at = 0;
  u32 source = 0;  // as an agent of the clocks
  u32 expected = 0, pending = 0;
  i64 bytes = 0;  // negative if copies completed before they were expected
  u64 phase = 0;
  u32 failed_polls = 0;
  u32 init_thread = 0, init_time = 0;
  Clock arriving, completed;  // of the current phase, and of the one before

  u32 parity() const { return u32(phase & 1); }
  std::string describe() const;
};

class Mbarriers {
 public:
  /// Of the shared memory of `owner`.
  void reset(Block& owner) {
    owner_ = &owner;
    all_.clear();
  }
  void init(Warp& warp, const Instruction& i, u32 lane, u32 at, u32 count);
  void invalidate(Warp& warp, const Instruction& i, u32 lane, u32 at);
  /// Faults unless an mbarrier is at the address, and the lane sees its initialisation.
  Mbarrier& use(Warp& warp, const Instruction& i, u32 lane, u32 at);
  /// The same for the bulk copy of a lane: the asynchronous proxy must see the initialisation.
  Mbarrier& use_async(Warp& warp, const Instruction& i, u32 lane, u32 at);
  Mbarrier* find(u32 at);
  void arrive(Warp& warp, const Instruction& i, Mbarrier& mbarrier, u32 count);
  void expect(Warp& warp, const Instruction& i, Mbarrier& mbarrier, u32 bytes);
  void complete_bytes(Warp& warp, const Instruction& i, Mbarrier& mbarrier, u32 bytes);

 private:
  Block* owner_ = nullptr;
  std::map<u32, Mbarrier> all_;
  void settle(Warp& warp, const Instruction& i, Mbarrier& mbarrier);
};

}  // namespace emulator
