// What the warps of a cluster know of each other. Time is the number of synchronisations in the cluster.
// Agents are the warps, numbered across its blocks, then the mbarriers, whose bulk copies write shared
// memory. known(w, a) is the time up to which warp w has seen what agent a did; an access of a at time t is
// ordered before one of w when known(w, a) > t. Threads are numbered as their warps: warp * 32 + lane.
#pragma once
#include <vector>

#include "machine.h"

namespace emulator {

/// Accesses that a release publishes: those of each agent up to a time.
struct Clock {
  std::vector<u32> times;
  std::map<u32, u32> threads;  // threads that arrived without the rest of their warp
  void merge(const Clock& other);
};

class Clocks {
 public:
  void reset(u32 warps);
  u32 now() const { return time_; }
  /// The number of a new mbarrier.
  u32 add_source();
  u32 agent_of_source(u32 source) const { return warps_ + source; }
  u32 known(u32 warp, u32 agent) const { return known_[size_t(warp) * columns_ + agent]; }
  /// The same for one lane, which may know more than its warp. `thread` is the agent's, or kNone.
  bool has_seen(u32 warp, u32 lane, u32 agent, u32 thread, u32 time) const;
  void sync_warp(u32 warp);
  /// Synchronises a block's warps with each other; bit 0 of `warps` is warp `first`.
  void sync_warps(u32 first, Mask warps);
  /// Adds what `lanes` have seen and done to `to`. What they do next is not a part of it.
  void release(u32 warp, Mask lanes, Mask alive, Clock& to);
  void release_source(u32 source, Clock& to);
  void acquire(u32 warp, Mask lanes, Mask alive, const Clock& from);
  /// The bytes of a bulk copy are written. Returns the time of it.
  u32 land() { return ++time_; }

  void fence_async(u32 warp, Mask lanes);
  void fence_init(u32 warp, Mask lanes);
  /// True if the asynchronous proxy sees what `thread` wrote at `time`.
  bool is_fenced(u32 thread, u32 time) const { return time < fenced_[thread]; }
  /// The same for an mbarrier that it initialised.
  bool sees_init(u32 thread, u32 time) const {
    return time < fenced_[thread] || time < init_fenced_[thread];
  }

 private:
  std::vector<u32> known_;  // warps × columns
  u32 warps_ = 0, columns_ = 0, sources_ = 0;
  u32 time_ = 1;
  std::vector<std::map<u32, u32>> thread_known_;  // by warp: times of single threads
  std::map<u32, Clock> lane_known_;               // by thread: what it acquired without the rest of its warp
  std::vector<u32> fenced_, init_fenced_;         // by thread: time of the last fence

  void join(u32 warp, const Clock& from);
  void join_lanes(u32 warp);
};

}  // namespace emulator
