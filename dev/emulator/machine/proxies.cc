// The part of the shadow that mbarriers and the asynchronous proxy need: what a release publishes, what an
// acquire takes, and which bytes bulk copies write and read.
#include "shadow.h"

namespace emulator {

void Clock::merge(const Clock& other) {
  if (times.size() < other.times.size()) times.resize(other.times.size(), 0);
  for (size_t k = 0; k < other.times.size(); ++k) times[k] = std::max(times[k], other.times[k]);
  for (auto [thread, time] : other.threads) threads[thread] = std::max(threads[thread], time);
}

u32 Shadow::add_source() {
  if (warps_ + sources_ == columns_) {
    u32 columns = columns_ + 16;
    std::vector<u32> wider(size_t(warps_) * columns, 0);
    for (u32 w = 0; w < warps_; ++w)
      std::copy_n(known_.begin() + w * columns_, columns_, wider.begin() + w * columns);
    known_ = std::move(wider);
    columns_ = columns;
  }
  return sources_++;
}

void Shadow::join(u32 warp, const Clock& from) {
  for (u32 v = 0; v < from.times.size(); ++v) {
    u32& to = known_[warp * columns_ + v];
    to = std::max(to, from.times[v]);
  }
  auto& threads = thread_known_[warp];
  for (auto [thread, time] : from.threads) threads[thread] = std::max(threads[thread], time);
}

void Shadow::join_lanes(u32 warp) {
  for (auto at = lane_known_.lower_bound(warp * kLanes);
       at != lane_known_.end() && at->first < (warp + 1) * kLanes;) {
    join(warp, at->second);
    at = lane_known_.erase(at);
  }
}

// A warp publishes what all of its lanes did only if all of them arrive. Otherwise it publishes what they did
// before they last synchronised, and the accesses of the arriving lanes.
void Shadow::release(const Warp& warp, Mask lanes, Clock& to) {
  u32 first = warp.index * kLanes;
  Clock mine;
  mine.times.assign(known_.begin() + warp.index * columns_,
      known_.begin() + warp.index * columns_ + warps_ + sources_);
  mine.threads = thread_known_[warp.index];
  ++time_;
  for (Mask left = lanes; left; left &= left - 1) {
    u32 thread = first + u32(__builtin_ctz(left));
    if (auto own = lane_known_.find(thread); own != lane_known_.end()) mine.merge(own->second);
    mine.threads[thread] = time_;
  }
  to.merge(mine);
  // True also if the lanes of the warp have arrived one after the other.
  u32 all = time_;
  for (Mask left = warp.alive(); left; left &= left - 1) {
    auto found = to.threads.find(first + u32(__builtin_ctz(left)));
    all = found == to.threads.end() ? 0 : std::min(all, found->second);
  }
  if (all) to.times[warp.index] = std::max(to.times[warp.index], all);
}

void Shadow::release_source(u32 source, Clock& to) {
  if (to.times.size() <= warps_ + source) to.times.resize(warps_ + source + 1, 0);
  to.times[warps_ + source] = ++time_;
}

void Shadow::acquire(const Warp& warp, Mask lanes, const Clock& from) {
  if (lanes == warp.alive()) return join(warp.index, from);
  for (; lanes; lanes &= lanes - 1)
    lane_known_[warp.index * kLanes + u32(__builtin_ctz(lanes))].merge(from);
}

void Shadow::fence_async(u32 warp, Mask lanes) {
  ++time_;
  for (; lanes; lanes &= lanes - 1) fenced_[warp * kLanes + u32(__builtin_ctz(lanes))] = time_;
}

void Shadow::fence_init(u32 warp, Mask lanes) {
  ++time_;
  for (; lanes; lanes &= lanes - 1) init_fenced_[warp * kLanes + u32(__builtin_ctz(lanes))] = time_;
}

bool Shadow::sees_init(u32 thread, u32 time) const {
  return time < std::max(fenced_[thread], init_fenced_[thread]);
}

void Shadow::start_bulk_load(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  visit(at, size, [&](Touch& touch, u32 byte) {
    Touch before = touch;
    check_write(touch, warp, i, lane, byte);
    check_proxy(before, warp, i, "overwrites");
    touch.flags |= kInFlight | kBulk;
  });
}

void Shadow::land_bulk_load(u32 source, u32 at, u32 size) {
  ++time_;
  visit(at, size, [&](Touch& touch, u32) {
    touch.flags &= u8(~(kInFlight | kBulk));
    touch.writer = u16(kAsyncWriter | source);
    touch.write_time = time_;
    touch.read_warps = 0;
  });
}

void Shadow::start_bulk_store(const Warp& warp, const Instruction& i, u32 lane, u32 at, u32 size) {
  read_async(warp, i, lane, at, size);
  visit(at, size, [&](Touch& touch, u32) { touch.flags |= kBulkRead; });
  pending_reads_.push_back({at, size, warp.index * kLanes + lane, i.line});
}

void Shadow::end_bulk_store(const Warp& warp, u32 lane, u32 at, u32 size) {
  u32 thread = warp.index * kLanes + lane;
  auto found = std::find_if(pending_reads_.begin(), pending_reads_.end(), [&](const PendingRead& read) {
    return read.at == at && read.size == size && read.thread == thread;
  });
  if (found != pending_reads_.end()) pending_reads_.erase(found);
  visit(at, size, [&](Touch& touch, u32) { mark_read(touch, warp.index, lane); });
}

void Shadow::init_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at) {
  visit(at, 8, [&](Touch& touch, u32 byte) {
    check_write(touch, warp, i, lane, byte);
    touch.flags |= kMbarrier;
  });
}

void Shadow::use_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at) {
  visit(at, 8, [&](Touch& touch, u32) {
    u32 writer = touch.writer;
    bool is_mine = writer == warp.index * kLanes + lane;
    if (!is_mine && !is_ordered(warp, lane, writer / kLanes, writer, touch.write_time))
      fault(warp, i,
          "lane " + std::to_string(lane) + " uses an mbarrier whose initialisation by " +
              name_thread(writer / kLanes, writer % kLanes, warp.index) + " no barrier has made visible");
    mark_read(touch, warp.index, lane);
  });
}

void Shadow::end_mbarrier(const Warp& warp, const Instruction& i, u32 lane, u32 at) {
  visit(at, 8, [&](Touch& touch, u32 byte) {
    touch.flags &= u8(~kMbarrier);
    check_write(touch, warp, i, lane, byte, "invalidates an mbarrier");
  });
}

}  // namespace emulator
