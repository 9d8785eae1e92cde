// Records the last access to each byte of shared memory and pending asynchronous copies to it. Detects races:
// two accesses, at least one of them a write, by threads that no barrier, no bar.warp.sync and no mbarrier
// has ordered.
//
// Time is the number of synchronisations in the block. Agents are the warps, then the mbarriers, whose bulk
// copies write shared memory. known[w][a] is the time up to which warp w has seen what agent a did; an access
// of a at time t is ordered before one of w when known[w][a] > t. An arrival at an mbarrier publishes these
// times in a Clock, and a completed wait takes them from it. Words are kept whole, until an access smaller
// than a word splits them into bytes.
#pragma once
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "machine.h"

namespace emulator {

struct Touch {
  u32 write_time = 0;
  u32 read_time = 0;
  u32 read_warps = 0;
  u16 writer = 0xffff;  // warp * 32 + lane, or kAsyncWriter; 0xffff for none
  u8 read_lane = 0;     // kLanes if several lanes have read
  u8 flags = 0;
};
constexpr u16 kNoWriter = 0xffff;
constexpr u16 kAsyncWriter = 0x8000;  // with the number of the mbarrier at which the bulk copy completed
enum TouchFlag : u8 { kInFlight = 1, kSplit = 2, kAtomic = 4, kBulk = 8, kMbarrier = 16, kBulkRead = 32 };

/// Accesses that are published by arrivals at an mbarrier: those of each agent up to a time.
struct Clock {
  std::vector<u32> times;
  std::map<u32, u32> threads;  // threads that arrived without the rest of their warp
  void merge(const Clock& other);
};

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

  /// A read by the asynchronous proxy. It sees a thread's write only if that thread ran fence.proxy.async
  /// after it.
  void read_async(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void start_bulk_load(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  void land_bulk_load(u32 source, u32 at, u32 size);
  void start_bulk_store(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size);
  /// The thread that issued the store has waited until its bytes were read.
  void end_bulk_store(const Warp& warp, u32 lane, u32 at, u32 size);

  void fence_async(u32 warp, Mask lanes);
  void fence_init(u32 warp, Mask lanes);
  /// True if the asynchronous proxy sees an mbarrier that `thread` initialised at `time`.
  bool sees_init(u32 thread, u32 time) const;

  /// The number of a new mbarrier.
  u32 add_source();
  void init_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at);
  void use_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at);
  void end_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at);
  void release(const Warp& warp, Mask lanes, Clock& to);
  void release_source(u32 source, Clock& to);
  void acquire(const Warp& warp, Mask lanes, const Clock& from);
  u32 time() const { return time_; }

 private:
  struct PendingRead {
    u32 at, size, thread, line;
  };
  std::vector<Touch> words_;
  std::unordered_map<u32, std::array<Touch, 4>> bytes_;
  std::vector<u32> known_;  // warps × columns
  u32 warps_ = 0, columns_ = 0, sources_ = 0;
  u32 time_ = 1;
  std::vector<std::map<u32, u32>> thread_known_;  // by warp: times of single threads
  std::map<u32, Clock> lane_known_;               // by thread: what it acquired without the rest of its warp
  std::vector<u32> fenced_, init_fenced_;         // by thread: time of the last fence
  std::vector<PendingRead> pending_reads_;

  template <class Check>
  void visit(u32 at, u32 size, Check check);
  u32 known(u32 warp, u32 of) const { return known_[warp * columns_ + of]; }
  u32 agent_of(u16 writer) const {
    return writer & kAsyncWriter ? warps_ + (writer & ~kAsyncWriter) : u32(writer) / kLanes;
  }
  bool is_ordered(const Warp& warp, u32 lane, u32 agent, u32 thread, u32 time) const;
  void check_writer(const Touch& touch, const Warp& warp, const Instruction& i, u32 lane, const char* verb);
  void check_proxy(const Touch& touch, const Warp& warp, const Instruction& i, const char* verb);
  void check_read(Touch& touch, const Warp& warp, const Instruction& i, u32 lane);
  void check_write(Touch& touch, const Warp& warp, const Instruction& i, u32 lane, u32 at,
      const char* verb = "overwrites shared bytes");
  void mark_read(Touch& touch, u32 warp, u32 lane);
  void join(u32 warp, const Clock& from);
  void join_lanes(u32 warp);
  [[noreturn]] void report_taken(
      const Touch& touch, const Warp& warp, const Instruction& i, const char* verb) const;
  std::string name_thread(u32 warp, u32 lane, u32 of_warp) const;
};

template <class Check>
void Shadow::visit(u32 at, u32 size, Check check) {
  for (u32 end = at + size; at < end;) {
    Touch& word = words_[at / 4];
    bool is_whole = at % 4 == 0 && end - at >= 4;
    if (is_whole && !(word.flags & kSplit)) {
      check(word, at);
      at += 4;
      continue;
    }
    auto& parts = bytes_[at / 4];
    if (!(word.flags & kSplit)) parts.fill(word);
    word.flags |= kSplit;
    u32 last = std::min(end, (at / 4 + 1) * 4);
    for (; at < last; ++at) check(parts[at % 4], at);
  }
}

}  // namespace emulator
