#include "clocks.h"

#include <algorithm>

namespace emulator {
namespace {

void merge_threads(std::map<u32, u32>& to, const std::map<u32, u32>& from) {
  for (auto [thread, time] : from) to[thread] = std::max(to[thread], time);
}

}  // namespace

void Clock::merge(const Clock& other) {
  if (times.size() < other.times.size()) times.resize(other.times.size(), 0);
  for (size_t k = 0; k < other.times.size(); ++k) times[k] = std::max(times[k], other.times[k]);
  merge_threads(threads, other.threads);
}

void Clocks::reset(u32 warps) {
  known_.assign(size_t(warps) * warps, 1);
  warps_ = columns_ = warps;
  sources_ = 0;
  time_ = 1;
  thread_known_.assign(warps, {});
  lane_known_.clear();
  fenced_.assign(size_t(warps) * kLanes, 0);
  init_fenced_ = fenced_;
}

u32 Clocks::add_source() {
  if (warps_ + sources_ == columns_) {
    u32 columns = columns_ + 16;
    std::vector<u32> wider(size_t(warps_) * columns, 0);
    for (size_t w = 0; w < warps_; ++w)
      std::copy_n(known_.begin() + long(w * columns_), columns_, wider.begin() + long(w * columns));
    known_ = std::move(wider);
    columns_ = columns;
  }
  return sources_++;
}

bool Clocks::has_seen(u32 warp, u32 lane, u32 agent, u32 thread, u32 time) const {
  if (time < known(warp, agent)) return true;
  auto sees = [&](const std::map<u32, u32>& threads) {
    auto found = threads.find(thread);
    return found != threads.end() && time < found->second;
  };
  if (sees(thread_known_[warp])) return true;
  auto mine = lane_known_.find(warp * kLanes + lane);
  if (mine == lane_known_.end()) return false;
  const Clock& clock = mine->second;
  return (agent < clock.times.size() && time < clock.times[agent]) || sees(clock.threads);
}

void Clocks::sync_warp(u32 warp) {
  known_[size_t(warp) * columns_ + warp] = ++time_;
  join_lanes(warp);
}

void Clocks::sync_warps(u32 first, Mask warps) {
  ++time_;
  std::vector<u32> seen(warps_ + sources_, 0);
  std::map<u32, u32> threads;
  for (Mask left = warps; left; left &= left - 1) {
    u32 warp = first + u32(__builtin_ctz(left));
    join_lanes(warp);
    for (u32 of = 0; of < seen.size(); ++of) seen[of] = std::max(seen[of], known(warp, of));
    merge_threads(threads, thread_known_[warp]);
  }
  for (Mask left = warps; left; left &= left - 1) seen[first + u32(__builtin_ctz(left))] = time_;
  for (Mask left = warps; left; left &= left - 1) {
    u32 warp = first + u32(__builtin_ctz(left));
    std::copy(seen.begin(), seen.end(), known_.begin() + long(size_t(warp) * columns_));
    thread_known_[warp] = threads;
  }
}

void Clocks::join(u32 warp, const Clock& from) {
  for (u32 of = 0; of < from.times.size(); ++of) {
    u32& seen = known_[size_t(warp) * columns_ + of];
    seen = std::max(seen, from.times[of]);
  }
  merge_threads(thread_known_[warp], from.threads);
}

void Clocks::join_lanes(u32 warp) {
  for (auto at = lane_known_.lower_bound(warp * kLanes);
       at != lane_known_.end() && at->first < (warp + 1) * kLanes;) {
    join(warp, at->second);
    at = lane_known_.erase(at);
  }
}

// A warp publishes what all of its lanes did only if all of them arrive. Otherwise it publishes what they did
// before they last synchronised, and the accesses of the arriving lanes.
void Clocks::release(u32 warp, Mask lanes, Mask alive, Clock& to) {
  Clock mine;
  auto row = known_.begin() + long(size_t(warp) * columns_);
  mine.times.assign(row, row + warps_ + sources_);
  mine.threads = thread_known_[warp];
  ++time_;
  for (Mask left = lanes; left; left &= left - 1) {
    u32 thread = warp * kLanes + u32(__builtin_ctz(left));
    if (auto own = lane_known_.find(thread); own != lane_known_.end()) mine.merge(own->second);
    mine.threads[thread] = time_;
  }
  to.merge(mine);
  // True also if the lanes of the warp have arrived one after the other.
  u32 all = time_;
  for (Mask left = alive; left; left &= left - 1) {
    auto found = to.threads.find(warp * kLanes + u32(__builtin_ctz(left)));
    all = found == to.threads.end() ? 0 : std::min(all, found->second);
  }
  if (all) to.times[warp] = std::max(to.times[warp], all);
}

void Clocks::release_source(u32 source, Clock& to) {
  if (to.times.size() <= warps_ + source) to.times.resize(warps_ + source + 1, 0);
  to.times[warps_ + source] = ++time_;
}

void Clocks::acquire(u32 warp, Mask lanes, Mask alive, const Clock& from) {
  if (lanes == alive) return join(warp, from);
  for (; lanes; lanes &= lanes - 1) lane_known_[warp * kLanes + u32(__builtin_ctz(lanes))].merge(from);
}

void Clocks::fence_async(u32 warp, Mask lanes) {
  ++time_;
  for (; lanes; lanes &= lanes - 1) fenced_[warp * kLanes + u32(__builtin_ctz(lanes))] = time_;
}

void Clocks::fence_init(u32 warp, Mask lanes) {
  ++time_;
  for (; lanes; lanes &= lanes - 1) init_fenced_[warp * kLanes + u32(__builtin_ctz(lanes))] = time_;
}

}  // namespace emulator
